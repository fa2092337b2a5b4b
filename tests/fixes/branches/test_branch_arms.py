"""Which assignments a branch can be reached from."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.branch_arms import never_reaches
from graphdoctor.static.domain.values import UNKNOWN
from graphdoctor.syntax.walk import walk

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
