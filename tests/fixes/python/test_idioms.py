"""Other spellings mean the same, or are not offered as safe."""

from __future__ import annotations

import ast
from typing import Any

import pytest

TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4),)\n"


def program(head: str, body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import inspect\nimport sys\n\nimport torch\n\n{head}\n\n\ndef f(x):\n{lines}{TAIL}"


@pytest.mark.parametrize(
    "head, body, line",
    [
        ("S = 2", 'return x * globals()["S"]', "return x * S"),
        ("S = 2", 'return x * globals()["S"]if x is not None else x', "return x * S if x is not None else x"),
        ("S = [2]", 'return x * globals()["S"][0]', "return x * S[0]"),
        ("def S():\n    return 2", 'g = globals()\nreturn x * g["S"]()', "return x * S()"),
        ("", "return x * len(sys._getframe().f_code.co_name)", 'x * len("f")'),
        ("", 'return x * len(f"{inspect.stack()[0].function}")', "x * len(f\"{'f'}\")"),
        ("", "return pow(x, 2)", "return x ** 2"),
        ("import math", "return x * math.prod(n for n in x.shape)", "math.prod([n for n in x.shape])"),
        (
            "import math",
            "return x * math.prod((n for n in x.shape), start=2)",
            "math.prod([n for n in x.shape], start=2)",
        ),
        ("import math", "return x * math.prod(map(int, x.shape))", "math.prod(list(map(int, x.shape)))"),
        ("", "return pow(-x, 2)if x is not None else x", "return ((-x) ** 2)if x is not None else x"),
        ("", "return pow(2, x)", "return 2 ** x"),
        ("S = 2", "return pow(pow(x, 2), pow(x, globals()['S']))", "return (x ** 2) ** (x ** S)"),
        ("", "return pow((x), (2)) + pow(\n    x + 1,  # why\n    2,\n)", "return ((x) ** (2)) + ((x + 1) ** 2)"),
        ("", "return x * 2 if torch.jit.isinstance(x, torch.Tensor) else x", "if isinstance(x, torch.Tensor) else"),
        (
            "",
            "return x * 2 if torch.jit.isinstance(x, (int, torch.Tensor)) else x",
            "isinstance(x, (int, torch.Tensor))",
        ),
        ("", "y = x * 2\nreturn y.relu() if callable(y.relu)and x.ndim else y", "y.relu() if True and x.ndim else y"),
    ],
)
def test_the_same_in_other_words(fixed: Any, runner: Any, head: str, body: str, line: str) -> None:
    import torch

    source = program(head, body)
    result = fixed(source)
    assert line in result.text
    x = torch.arange(4.0) - 2
    assert torch.equal(runner.eager(result.text, x), runner.eager(source, x))
    assert runner.compiled(result.text, x, fullgraph=True).graphs == 1


@pytest.mark.parametrize(
    "head, body",
    [
        # Another name than the module's, or none.
        ("S = 2", 'S = 3\nreturn x * globals()["S"] * S'),
        ("S = 2", 'def g(S):\n    return globals()["S"]\nreturn x * g(3)'),
        ("S = 2", 'S = 3\ndef g():\n    return globals()["S"]\nreturn x * g() * S'),
        ("S = 2", 'return x * (lambda S: globals()["S"])(3)'),
        ("S = 2", 'return x * [globals()["S"] for S in (3,)][0]'),
        ("S = 2", 'import math as S\nreturn x * globals()["S"]'),
        ("S = 2", 'match 3:\n    case S:\n        pass\nreturn x * globals()["S"]'),
        ("S = 2", 'class A:\n    S = 3\n    y = globals()["S"]\nreturn x * A.y'),
        ("__S = 2", 'class A:\n    def g(self):\n        return globals()["__S"]\nreturn x * A().g()'),
        # Not names, or not read.
        ("", 'globals()["class"] = 2\nreturn x * globals()["class"]'),
        ("", 'globals()["__debug__"] = 2\nreturn x * globals()["__debug__"]'),
        ("S = 2", 'globals()["S"] += 1\nreturn x'),
        ("S = 2", 'globals()["S"] = 1\nreturn x'),
        ("S = 2", 'for globals()["S"] in (1,):\n    pass\nreturn x'),
        ("S = 2", 'globals()["S"], y = 1, 2\nreturn x'),
        ("S = 2", 'globals()["\\uff33"] = 3\nreturn x * globals()["\\uff33"]'),
        # Missing: a KeyError, and no builtin.
        ("", 'try:\n    return x * globals()["len"]\nexcept KeyError:\n    return x'),
        ("S = 2\ndel S", 'try:\n    return x * globals()["S"]\nexcept KeyError:\n    return x'),
        ("if len(sys.argv) > 99:\n    S = 2", 'try:\n    return x * globals()["S"]\nexcept KeyError:\n    return x'),
        ("S = 2\nglobals().pop('S')", 'try:\n    return x * globals()["S"]\nexcept KeyError:\n    return x'),
        ("def globals():\n    return {'S': 3}\nS = 2", 'return x * globals()["S"]'),
        # Frames of their own.
        ("", "return x * len((lambda: sys._getframe().f_code.co_name)())"),
        ("", "return x * len([sys._getframe().f_code.co_name for _ in range(1)][0])"),
        ("", "return x * len(next(inspect.stack()[0].function for _ in range(1)))"),
        ("", "class A:\n    name = sys._getframe().f_code.co_name\nreturn x * len(A.name)"),
        ("", "def longer(n=sys._getframe().f_code.co_name):\n    return n\nreturn x * len(longer())"),
        # No plain call of the builtin.
        ("", "return pow(x, *[2])"),
        ("", "return pow(*[x, 2])"),
        ("def pow(a, b):\n    return a", "return pow(x, 2)"),
        ("from torch import *", "return pow(x, 2)"),
        ("", "pow = torch.sub\nreturn pow(x, 2)"),
        # What is asked is computed, or may be no tensor.
        ("it = iter([torch.ones(1)] * 9)", "return x * callable(next(it).relu) + len(list(it))"),
        ("", "return x * 2 if callable(x.nothing) else x"),
    ],
)  # fmt: skip
def test_not_safe(fixed: Any, head: str, body: str) -> None:
    source = program(head, body)
    result = fixed(source)
    ast.parse(result.text)
    assert result.text == source


def test_without_the_safe_ones_nothing_is_broken(fixed: Any, runner: Any) -> None:
    import torch

    source = program("S = 2", 'S = 3\ndef g():\n    return globals()["S"]\nreturn x * g() * S')
    assert torch.equal(runner.eager(fixed(source).text, torch.ones(4)), torch.full((4,), 6.0))


@pytest.mark.parametrize(
    "head, body, reason",
    [
        (
            "import math\nlist = tuple",
            "return x * math.prod(map(int, x.shape))",
            "`list` has another meaning in this file.",
        ),
        ("import math", "return x * math.prod(*[map(int, x.shape)])", "What is given does not stand in the call."),
    ],
)
def test_iterators_that_do_not_become_lists(fixed: Any, head: str, body: str, reason: str) -> None:
    result = fixed(program(head, body))
    assert [f.fix.reason for f in result.findings if f.rule == "GD405" and f.fix is not None] == [reason]


@pytest.mark.parametrize(
    "head, call, reason",
    [
        ("", "*(x, torch.Tensor)", "This is no call of `torch.jit.isinstance` with an object and a type."),
        (
            "",
            "[x], list[torch.Tensor]",
            "`torch.jit.isinstance` also looks at what is in a container, which `isinstance` does not.",
        ),
        (
            "class int: pass",
            "x, int",
            "`torch.jit.isinstance` also looks at what is in a container, which `isinstance` does not.",
        ),
        (
            "def isinstance(a, b):\n    return True",
            "x, torch.Tensor",
            "The name isinstance may stand for something else in this file.",
        ),
    ],
)
def test_questions_about_types_that_stay(fixed: Any, head: str, call: str, reason: str) -> None:
    result = fixed(program(head, f"return x * 2 if torch.jit.isinstance({call}) else x"))
    assert [f.fix.reason for f in result.findings if f.rule == "GD405" and f.fix is not None] == [reason]


@pytest.mark.parametrize(("shown", "safety"), [("{pow(x, 2).ndim}", "safe"), ("{pow(x, 2).ndim=}", "unsafe")])
def test_code_that_is_shown_as_text_changes_the_text(fixed: Any, shown: str, safety: str) -> None:
    (finding,) = fixed(program("", f'return x * len(f"{shown}")')).findings
    assert (finding.rule, finding.fix.safety) == ("GD405", safety)
    assert (finding.fix.reason == "It changes code that `{...=}` shows as text.") == (safety == "unsafe")
