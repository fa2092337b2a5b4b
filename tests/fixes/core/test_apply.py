"""Edits on text, and fixes that go together."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.asserts import constant_message
from graphdoctor.fixes.branches.branch import rewrite_branch
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.branches.cond import choose_with_cond
from graphdoctor.fixes.core.apply import apply, fixed_texts, original_lines, overlap, select_fixes
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.devices import device_arguments
from graphdoctor.fixes.forms.gradients import grad_flag_in_eager
from graphdoctor.fixes.forms.sorting import sort_in_graph
from graphdoctor.fixes.forms.storage import reshape, stay_dense
from graphdoctor.fixes.loops.layer_drop import skip_layer
from graphdoctor.fixes.loops.while_loop import loop_in_graph
from graphdoctor.fixes.python.capture import capture_numbers
from graphdoctor.fixes.python.checks import check_in_graph
from graphdoctor.fixes.python.contexts import skip_context
from graphdoctor.fixes.python.defaults import make_default
from graphdoctor.fixes.python.definitions import hoist_definition
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.guard import guard_statement
from graphdoctor.fixes.python.hoist import hoist_constant
from graphdoctor.fixes.python.idioms import power, read_global
from graphdoctor.fixes.python.wrappers import plain_iterable
from graphdoctor.fixes.rows.experts import loop_over_all
from graphdoctor.fixes.tensors.conversions import keep_tensor, keep_truth
from graphdoctor.fixes.tensors.masks import reduce_masked, write_masked
from graphdoctor.fixes.tensors.rounds import keep_looping
from graphdoctor.model.findings import Edit, Finding, Fix, Location
from graphdoctor.static.domain import events
from graphdoctor.static.domain.values import UNKNOWN, Tensor
from graphdoctor.static.rule import FixPlan, Hit
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import walk


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> Edit:
    return Edit("m.py", start, end, text)


def finding(line: int, *edits: Edit, safety: Any = "safe") -> Finding:
    place = Location("m.py", line, 1, line, 9)
    fix = Fix(safety, "reason", edits)
    return Finding("GD101", "n", "error", "certain", place, "f", "m", "w", "s", fix=fix, fingerprint=f"p{line}")


def test_apply_replaces_inserts_and_deletes() -> None:
    text = "ab\r\ncd\ref\n"
    edits = [edit((3, 1), (3, 3), "XY"), edit((1, 2), (1, 2), "-"), edit((2, 1), (2, 2), "")]
    assert apply(text, edits) == "a-b\r\nd\rXY\n"


def test_equal_edits_are_made_once_and_touching_ones_in_order() -> None:
    insert, replace = edit((1, 1), (1, 1), "import torch\n"), edit((1, 1), (1, 3), "xy")
    assert apply("ab\n", [replace, insert, insert]) == "import torch\nxy\n"


def test_overlapping_edits_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"edits overlap at m\.py:1"):
        apply("abc\n", [edit((1, 1), (1, 3), ""), edit((1, 2), (1, 4), "")])


def test_overlap() -> None:
    a, b = edit((1, 1), (1, 3), "x"), edit((1, 3), (1, 5), "y")
    assert not overlap(a, b) and not overlap(a, a)
    assert overlap(a, edit((1, 2), (1, 9), "z"))
    assert overlap(edit((1, 1), (1, 1), "p"), edit((1, 1), (1, 1), "q"))
    assert not overlap(edit((1, 1), (1, 1), "p"), a)
    assert not overlap(edit((1, 1), (1, 1), "_A = 1\n"), edit((1, 1), (1, 1), "_B = 2\n"))
    assert overlap(edit((1, 1), (1, 1), "_A = 1\n"), edit((1, 1), (1, 1), "_A = 2\n"))
    settings = [edit((1, 1), (1, 1), f"\ntorch._dynamo.config.{name} = True\n") for name in ("a", "b")]
    assert not overlap(*settings)


def test_select_drops_the_later_of_two_overlapping_fixes() -> None:
    first, second = finding(1, edit((1, 1), (3, 1), "")), finding(2, edit((2, 1), (2, 5), ""))
    third = finding(4, edit((4, 1), (4, 1), "x"), safety="unsafe")
    assert select_fixes([third, second, first], unsafe=False) == ((first,), (second,))
    assert select_fixes([third, second, first], unsafe=True) == ((first, third), (second,))


def test_shared_import_edits_do_not_clash() -> None:
    shared = edit((1, 1), (1, 1), "import torch\n")
    findings = [finding(2, shared, edit((2, 1), (2, 2), "X")), finding(3, shared, edit((3, 1), (3, 2), "Y"))]
    chosen, dropped = select_fixes(findings, unsafe=False)
    assert dropped == ()
    assert fixed_texts({"m.py": "a\nb\nc\n"}, chosen) == {"m.py": "import torch\na\nX\nY\n"}


def test_original_lines() -> None:
    text = "a\nb\nc\n"
    edits = [edit((1, 1), (1, 1), "import torch\n"), edit((2, 1), (2, 2), "x\ny\nz")]
    assert apply(text, edits) == "import torch\na\nx\ny\nz\nc\n"
    assert original_lines(text, edits) == (1, 1, 2, 2, 2, 3, 4)
    assert original_lines(text, []) == (1, 2, 3, 4)


# Programs of random shape: every rewrite either refuses or leaves a program that parses.

STATEMENTS = [
    "print(x)", "print(x,\n      1)", 'print("""a\n b""")', "x = 1; print(x)", "logger.info('a %s', x)  # why",
    "if x.any():\n    raise ValueError(f'{x} \\n')", "if x.any(): raise ValueError", "assert not x.any(), f'{x}'",
    "if x.sum() > 0:\n    y = x * 2\nelse:\n    y = -x", "if x.any():\n    return x  # a\n# b\nreturn x",
    "if a: print(x)",
    "if a:\n    y = 1\nelif x.any():\n    raise ValueError('é')\nelse:\n    print(x)", "y = x if x.any() else -x",
    "y = (x\n     if x.any()\n     else (x + 1))",
    "x = (yield)", "print((x := 1))", "@property\ndef g(self): print(x)",
    "with a as torch: print(x)", "try:\n    print(x)\nexcept E: print(1)\nfinally: print(2)", "lambda: print(x)",
    "while a:\n    assert x.any() and x.all(), '%s' % x\nelse: print(x)", "match x:\n    case 1: print(x)",
    "assert x.any(), 'a' \\\n    f'{x}'", "if (x.any()\n    and x.all()):\n    y = 1\nelse:\n    y = 2", "print(x);",
    "y = x.max().item()", "y = x.max().item(); z = y", "y = (x.sum()\n     .item()) * x",
    "if x.max().item() > (\n    1): x = -x", "y[m] = x[m] * 2", "y[x > 0] += 1", "z = x[x > 0].sum()",
    "t = time.time()\nprint(time.time() - t)", "with open(a) as h:\n    h.write('b')  # c",
    "while x.max() > 1:\n    x = x / 2", "x.requires_grad = True", "y = x.detach().requires_grad_()  # why",
    "for i in tqdm(a): x = x + i", "y = [i for i in tqdm(a)]", "v = round(x.mean().item(), 2)\nx = x * v",
    "ok = x.any() and not x.all()\nx = x * ok", "y = zlib.crc32(b'a')",
    "for k in x:\n    x = x + k\n    if x.any(): break", "for k in x:\n    if k.any():\n        continue  # a\n    x = x * k",
    "s = sorted([x, a])", "y = globals()['torch']", "y = x.clone()\ny.resize_(2)", "s = x.to_sparse()\ny = s.to_dense()",
    "with torch.device(0):\n    # a\n    y = torch.ones(\n        8\n    )", "try:\n    import m\nexcept ImportError: m = None",
    "if x.any():\n    y = g(x)\nelse: y = h(x)", "class A:\n    k = 1\n", "y = pow(x, -2)",
]  # fmt: skip
HEADS = ["", '"""doc"""\n', "import math\n", "from torch import nn\n", "import torch\n", "#!x\n\n# c\n", "torch = 1\n"]


def program(seed: int) -> str:
    chance = random.Random(seed)
    indent = chance.choice(["    ", "  ", "\t"])
    lines = []
    for _ in range(chance.randint(1, 3)):
        lines += [f"def f{len(lines)}(x, a):"]
        for statement in chance.choices(STATEMENTS, k=chance.randint(1, 6)):
            lines += [indent + line if '""")' not in line[2:] else line for line in statement.split("\n")]
    text = chance.choice(HEADS) + "\n".join(lines).replace("    " + indent, indent * 2)
    newline = chance.choice(["\n", "\r\n"])
    return text.replace("\n", newline) + chance.choice(["", newline])


OF_CALLS = (
    guard_statement, rewrite_branch, guard_host, hoist_constant, keep_tensor, capture_numbers, plain_iterable,
    grad_flag_in_eager, check_in_graph, skip_context, loop_over_all, read_global, power, reshape, stay_dense,
    device_arguments, sort_in_graph, choose_with_cond, keep_looping, skip_layer,
)  # fmt: skip
OF_VALUES = (
    rewrite_branch,
    write_masked,
    reduce_masked,
    keep_truth,
    loop_in_graph,
    make_default,
    choose_with_cond,
    keep_looping,
    skip_layer,
)


def every_plan(text: str) -> list[FixPlan]:
    editor = Editor(SourceModule("m.py", Path("m.py"), text, "utf-8"))
    plans = []
    for node in [n for statement in editor.module.tree.body for n in walk(editor.module.of(statement))]:
        site = events.Site(editor.module, "f", node, None, False, True)
        if isinstance(node, cst.Call):
            hit = Hit(events.Call(node, site, "", (), {}), "", "")
            plans += [first_fit(hit, editor, rewrite) for rewrite in OF_CALLS]
        elif isinstance(node, (cst.Subscript, cst.BooleanOperation, cst.Comparison)):
            hit = Hit(events.Truth(node, site, Tensor(), "if"), "", "")
            plans += [first_fit(hit, editor, rewrite) for rewrite in OF_VALUES]
        elif isinstance(node, (cst.ClassDef, cst.ImportAlias)):
            plans.append(first_fit(Hit(events.Define(node, site, "A"), "", ""), editor, hoist_definition))
        elif isinstance(node, cst.Assert):
            plans.append(constant_message(node, Hit(events.Assert(node, site, UNKNOWN, None), "", ""), editor))
    return [plan for plan in plans if isinstance(plan, FixPlan)]


def test_generated_programs_still_parse() -> None:
    fixes = 0
    for seed in range(250):
        text = program(seed)
        ast.parse(text)
        plans = every_plan(text)
        for plan in plans:
            ast.parse(apply(text, plan.edits))
        chosen, _ = select_fixes([finding(i + 1, *p.edits) for i, p in enumerate(plans)], unsafe=True)
        after = fixed_texts({"m.py": text}, chosen).get("m.py", text)
        ast.parse(after)
        assert (("\r\n" in after) == ("\r\n" in text) and "\n" not in after.replace("\r\n", "")) or "\r\n" not in text
        fixes += len(chosen)
    assert fixes > 500
