"""What a name may hold when a branch begins."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.analysis.held_before import never_reaches, values_before
from graphdoctor.static.domain.values import UNKNOWN
from graphdoctor.syntax.walk import walk

BRANCH = "if x.sum() > 0:\n    y = x * 2\nreturn y"
OPTIONAL = "def f(x, y=None, flag=True):\n"

HELD = {
    "the last of two": ("y = None\ny = x\n", ["x"]),
    "with an annotation": ("y: object = None\n", ["None"]),
    "on one path only": ("y = None\nif flag:\n    y = x\n", ["x", "None"]),
    "in a loop that may have no rounds": ("y = None\nfor z in x:\n    y = z\n", ["z", "None"]),
    "in a block that always runs": ("y = None\nwith g():\n    y = x\n", ["x"]),
    "a default": ("", ["None"]),
    "a default that is filled in": ("if y is None:\n    y = x\n", ["x"]),
    "not None after a return": ("y = None\nif flag:\n    y = x\nif y is None:\n    return x\n", ["x"]),
    "on a path that returns": ("if flag:\n    y = 3\n    return y\ny = x\n", ["x"]),
}


@pytest.mark.parametrize("name", HELD)
def test_values_before_a_branch(make: Any, name: str) -> None:
    before, expected = HELD[name]
    source = OPTIONAL + "".join(f"    {line}\n" for line in (before + BRANCH).splitlines())
    it = make(source, cst.If, "x.sum() > 0")
    assert [it.editor.code(value) for value in values_before("y", it.hit.event.branch, it.editor)] == expected


def test_none_is_no_value_under_a_test_for_it(make: Any) -> None:
    source = f"{OPTIONAL}    if y is not None and x.sum() > 0:\n        y = x\n    return y\n"
    it = make(source, cst.If)
    assert values_before("y", it.hit.event.branch, it.editor) == []


HEAD = "import torch\n\n\ndef f(x, mode):\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if mode:\n    y = x\nelse:\n    g(x)", True),
        ("if mode:\n    y = x\nelif x:\n    g(x)", True),
        ("if mode:\n    y = x\n    return y\ng(x)", True),
        ("if mode:\n    z = x\nelse:\n    y = x\n    raise ValueError\ng(x)", True),
        ("if mode:\n    y = x\ng(x)", False),
        ("if mode:\n    y = x\n    if x:\n        g(x)\n    return y", False),
        ("for y in x:\n    if mode:\n        g(x)", False),
    ],
)
def test_a_side_that_is_not_taken_reaches_nothing_behind(make: Any, body: str, expected: bool) -> None:
    source = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    case = make(source, cst.Call, "g(", UNKNOWN)
    nodes = list(walk(case.editor.module.tree))
    bound = next(n for n in nodes if isinstance(n, cst.Name) and n.value == "y")
    assert never_reaches(bound, case.hit.place, case.editor) is expected
