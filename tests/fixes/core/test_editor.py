"""Edits from nodes: the file stays byte for byte the same elsewhere."""

from __future__ import annotations

import ast
from pathlib import Path

import libcst as cst
import pytest

from graphdoctor.fixes.core.apply import apply
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import walk


def editor_of(text: str) -> Editor:
    return Editor(SourceModule("pack/model.py", Path("pack/model.py"), text, "utf-8"))


def first(editor: Editor, kind: type[cst.CSTNode], marker: str = "") -> cst.CSTNode:
    statements = [editor.module.of(statement) for statement in editor.module.tree.body]
    nodes = (node for statement in statements for node in walk(statement))
    return next(n for n in nodes if isinstance(n, kind) and marker in editor.code(n))


def guarded(text: str, marker: str = "print") -> str:
    editor = editor_of(text)
    return apply(text, editor.guard(first(editor, cst.Expr, marker)))


def test_guard_puts_the_statement_under_an_if_and_keeps_its_comments() -> None:
    text = "import torch\ndef f(x):\n    # why\n    print(x)  # what\n    return x\n"
    guard = "    if not torch.compiler.is_compiling():\n        print(x)  # what\n"
    after = f"import torch\ndef f(x):\n    # why\n{guard}    return x\n"
    assert guarded(text) == after


def test_guard_indents_continuation_lines_but_not_the_inside_of_strings() -> None:
    text = "import torch\ndef f(x):\n    print(x,\n          \"\"\"a\n  b\"\"\",\n          f'''c\n{x}d''')\n"
    after = guarded(text)
    assert "        print(x,\n              \"\"\"a\n  b\"\"\",\n              f'''c\n{x}d''')\n" in after


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_guard_keeps_newlines_tabs_and_a_missing_last_line_end(newline: str) -> None:
    text = newline.join(["import torch", "def f(x):", "\tprint(x,", "\t\t1)"])
    wanted = ["import torch", "def f(x):", "\tif not torch.compiler.is_compiling():", "\t\tprint(x,", "\t\t\t1)"]
    assert guarded(text) == newline.join(wanted)


def test_guard_opens_a_one_line_suite() -> None:
    text = "import torch\ndef f(x, a):\n    if a: print(x)\n    else: print(1)\n    return x\n"
    after = guarded(text)
    assert (
        "    if a:\n        if not torch.compiler.is_compiling():\n            print(x)\n    else: print(1)\n" in after
    )
    assert "    else:\n        if not" in guarded(text, "print(1)")
    ast.parse(after)


def test_guard_finds_columns_behind_form_feeds_and_line_separators() -> None:
    text = "import torch\n\x0c\nS = '\u2028'\ndef f(x):\n    print(x)\n"
    assert guarded(text) == text.replace("    print(x)", "    if not torch.compiler.is_compiling():\n        print(x)")


@pytest.mark.parametrize(
    "body, after",
    [
        ("x = 1; print(x)", "x = 1\n    GUARD\n        print(x)"),
        ("print(x);", "GUARD\n        print(x);"),
        ("print(x); y = 1; z = 2", "GUARD\n        print(x)\n    y = 1; z = 2"),
        ("if x: x = 2; print(x)", "if x:\n        x = 2\n        GUARD\n            print(x)"),
    ],
)
def test_guard_splits_shared_lines(body: str, after: str) -> None:
    head = "import torch\ndef f(x):\n    "
    guard = "if not torch.compiler.is_compiling():"
    assert guarded(f"{head}{body}\n") == f"{head}{after.replace('GUARD', guard)}\n"


def test_guard_refuses_what_stands_behind_no_colon() -> None:
    with pytest.raises(Refuse, match="right after a colon"):
        guarded("import torch\ndef f(x):\n    if x: \\\n        x = 2; print(x)\n")


@pytest.mark.parametrize(
    "before, after",
    [
        ("", "import torch\n"),
        ('"""doc"""\n', '"""doc"""\nimport torch\n'),
        ("# -*- coding: utf-8 -*-\n", "# -*- coding: utf-8 -*-\nimport torch\n"),
        ("from __future__ import annotations\n", "from __future__ import annotations\nimport torch\n"),
        ("import math\nimport os\n", "import math\nimport os\n\nimport torch\n"),
        ("import math\n\nfrom . import a\n", "import math\n\nimport torch\n\nfrom . import a\n"),
        ("import math\nfrom .a import b\n", "import math\n\nimport torch\n\nfrom .a import b\n"),
        ("from .a import b\n", "import torch\n\nfrom .a import b\n"),
        ("from pack.a import b\n", "import torch\n\nfrom pack.a import b\n"),
        (
            "import math\n\nimport numpy as np\nfrom scipy import signal\n\nfrom pack import a\n",
            "import math\n\nimport numpy as np\nimport torch\nfrom scipy import signal\n\nfrom pack import a\n",
        ),
        ("import math\n\nimport xarray\n", "import math\n\nimport torch\nimport xarray\n"),
        ("from numpy import pi\n", "import torch\nfrom numpy import pi\n"),
        ("import math\nfrom torch import nn\n", "import math\nimport torch\nfrom torch import nn\n"),
        ("import torch as th\n", "import torch\nimport torch as th\n"),
        (
            '("a"\n "b")\nfrom __future__ import annotations\n',
            '("a"\n "b")\nfrom __future__ import annotations\nimport torch\n',
        ),
        ("# why\n@len\n", "# why\nimport torch\n@len\n"),
        ("def g():\n    import torch\n", "import torch\ndef g():\n    import torch\n"),
        # An import that may not run, or that runs after the function is called.
        (
            "import sys\nif sys.flags.dev_mode:\n    import torch\n",
            "import sys\n\nimport torch\nif sys.flags.dev_mode:\n    import torch\n",
        ),
        (
            "import sys\ntry:\n    import missing\n    import torch\nexcept ImportError:\n    pass\n",
            "import sys\n\nimport torch\ntry:\n    import missing\n    import torch\nexcept ImportError:\n    pass\n",
        ),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n", None),
    ],
)
def test_import_is_added_where_torch_is_not_bound(before: str, after: str | None) -> None:
    text = before + "def f(x):\n    print(x)\n"
    changed = guarded(text)
    if after is None:
        after = "from typing import TYPE_CHECKING\n\nimport torch\nif TYPE_CHECKING:\n    import torch\n"
    assert changed.startswith(after + "def f"), changed
    ast.parse(changed)


def test_import_behind_the_function_does_not_count() -> None:
    text = "import sys\ndef f(x):\n    print(x)\nf(1)\nimport torch\n"
    assert guarded(text).startswith("import sys\n\nimport torch\ndef f")


@pytest.mark.parametrize(
    "before",
    [
        "import torch\n",
        "import torch.nn\n",
        "import torch.nn as nn, torch\n",
        "try:\n    import torch\nexcept ImportError:\n    raise\n",
    ],
)
def test_no_import_is_added_where_torch_is_bound(before: str) -> None:
    assert guarded(before + "def f(x):\n    print(x)\n").count("import torch") == before.count("import torch")


def test_import_goes_behind_a_last_line_without_end() -> None:
    text = '"""doc"""'
    assert apply(text, editor_of(text).torch_import()) == '"""doc"""\nimport torch'


@pytest.mark.parametrize(
    "text, reason",
    [
        ("torch = None\ndef f(x):\n    print(x)\n", "stands for something else"),
        ("import mytorch as torch\ndef f(x):\n    print(x)\n", "stands for something else"),
        ("from compat import torch\ndef f(x):\n    print(x)\n", "stands for something else"),
        ("def torch(): ...\ndef f(x):\n    print(x)\n", "stands for something else"),
        ("import torch\nfor torch in []: ...\ndef f(x):\n    print(x)\n", "stands for something else"),
        ("import torch\ndef f(x, torch):\n    print(x)\n", "local in this function"),
        ("import torch\ndef f(x):\n    torch = x\n    print(x)\n", "local in this function"),
        ("import torch\ndef f(x):\n    with x as torch:\n        print(x)\n", "local in this function"),
        ("import torch\ndef f(x):\n    print(x)\n    import torch\n", "local in this function"),
        ("import torch\ndef f(x):\n    print(x)\ndel torch\n", "stands for something else"),
        (
            "import torch\ndef g():\n    global torch\n    torch = 1\ndef f(x):\n    print(x)\n",
            "stands for something else",
        ),
        ("import torch\nglobals()['torch'] = 1\ndef f(x):\n    print(x)\n", "stands for something else"),
        ("import torch\n[torch := 1 for _ in (1,)]\ndef f(x):\n    print(x)\n", "stands for something else"),
        ("import torch\ndef f(x):\n    print(x)\n    del torch\n", "local in this function"),
        ("import torch\ndef f(x):\n    match x:\n        case torch: pass\n    print(x)\n", "local in this function"),
        (
            "import torch\ndef f(x):\n    match x:\n        case [*torch]: pass\n    print(x)\n",
            "local in this function",
        ),
        (
            "import torch\ndef f(x):\n    match x:\n        case {**torch}: pass\n    print(x)\n",
            "local in this function",
        ),
        ("import torch\ndef f(x):\n    class A:\n        torch = 1\n        print(x)\n", "local in this function"),
        ("def f(x):\n    print(x)\n    import torch\n", "local in this function"),
        ("def f(x):\n    import torch\n    print(x)\n    torch = 1\n", "local in this function"),
        ("def f(x):\n    if x:\n        import torch\n    print(x)\n", "local in this function"),
    ],
)
def test_shadowed_torch_is_refused(text: str, reason: str) -> None:
    with pytest.raises(Refuse, match=reason):
        guarded(text)


def test_an_import_in_the_function_is_enough() -> None:
    text = "def f(x):\n    if x:\n        return\n\n    import torch\n    print(x)\n"
    assert guarded(text).count("import torch") == 1
    inner = "def f(x):\n    import torch\n    def g(y):\n        print(x)\n"
    assert guarded(inner).count("import torch") == 1


def test_nested_function_names_do_not_shadow() -> None:
    text = "import torch\ndef f(x):\n    y = [torch for torch in x]\n    print(x)\n"
    assert "is_compiling" in guarded(text)


def test_only_parts_of_statements_have_one() -> None:
    editor = editor_of("x = 1\n")
    with pytest.raises(Refuse, match="the code is not part of a single statement"):
        editor.statement_of(editor.module.tree)


def test_guard_refuses_blocks_and_parentheses() -> None:
    editor = editor_of("import torch\nif x: pass\n")
    with pytest.raises(Refuse, match="the statement is not a simple one"):
        editor.guard(first(editor, cst.If, "x"))
    with pytest.raises(Refuse, match="the statement does not stand right after a colon"):
        guarded("import torch\ndef f(x):\n    if x: \\\n        print(x)\n")


def test_guard_does_not_indent_a_text_that_goes_on_behind_a_backslash() -> None:
    text = 'import torch\ndef f(x):\n    print(f"a\\\n  b {x}", "c\\\n  d", \\\n          x)\n'
    assert '        print(f"a\\\n  b {x}", "c\\\n  d", \\\n              x)\n' in guarded(text)


@pytest.mark.parametrize(
    "text, marker, after",
    [
        ("y = (a)if b else c\n", "a", "y = (n)if b else c\n"),
        ("y = a[0]if b else c\n", "a[0]", "y = n if b else c\n"),
        ("y = 1 if b else[0]\n", "[0]", "y = 1 if b else n\n"),
        ("y = not[0]in b\n", "[0]", "y = not n in b\n"),
        ("y = [0]\n", "[0]", "y = n\n"),
    ],
)
def test_a_word_is_kept_apart_from_its_neighbours(text: str, marker: str, after: str) -> None:
    editor = editor_of(text)
    nodes = [n for n in walk(editor.module.of(editor.module.tree.body[0])) if isinstance(n, cst.BaseExpression)]
    node = next(n for n in nodes if editor.module.code(n).strip("()") == marker)
    assert apply(text, [editor.replace(node, "n")]) == after


def test_narrowed_edits_of_one_expression_go_together() -> None:
    text = "y = a.item() + b.item()\n"
    editor = editor_of(text)
    whole = first(editor, cst.BinaryOperation, "a.item() + b.item()")
    edits = [editor.narrowed(whole, "a.data() + b.item()"), editor.narrowed(whole, "a.item() + b.data()")]
    assert apply(text, edits) == "y = a.data() + b.data()\n"


def test_delete_takes_whole_lines() -> None:
    text = "def f():\n    x = (\n        1\n    )\n    return 2\n"
    editor = editor_of(text)
    assert apply(text, [editor.delete(first(editor, cst.Assign, "x"))]) == "def f():\n    return 2\n"
    text = "def f():\n    y = 1\n    x = 2"
    editor = editor_of(text)
    assert apply(text, [editor.delete(first(editor, cst.Assign, "x"))]) == "def f():\n    y = 1"


def test_indent_of_refuses_code_in_front() -> None:
    editor = editor_of("x = 1; y = 2\n")
    with pytest.raises(Refuse, match="shares its line"):
        editor.indent_of(first(editor, cst.Assign, "y"))


def test_replace_and_insert_before() -> None:
    text = "def f(x):\n    y = (x + 1)\n    return y\n"
    editor = editor_of(text)
    replaced = apply(text, [editor.replace(first(editor, cst.BinaryOperation), "x - 1")])
    assert replaced == "def f(x):\n    y = (x - 1)\n    return y\n"
    inserted = apply(text, [editor.insert_before(first(editor, cst.Return), "z = y\n    ")])
    assert inserted == "def f(x):\n    y = (x + 1)\n    z = y\n    return y\n"
