"""What a name may hold when a branch begins."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.analysis.held_before import values_before

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
    "not None behind a return": ("y = None\nif flag:\n    y = x\nif y is None:\n    return x\n", ["x"]),
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
