"""The rewrite that fits a branch."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.branch import branch_of, rewrite_branch
from graphdoctor.fixes.branches.init_flags import take_as_set
from graphdoctor.static.rule import FixPlan
from graphdoctor.syntax.walk import walk

LOOP = "A while loop on tensor data has no simple rewrite; bound the loop, or use torch.while_loop."
BOUNDED = (
    "Write a for loop over `range(n)`, in which `torch.where` keeps the old values once the rest of the test is false."
)
MIDDLE = "This value is tested in the middle of an expression, which has no simple rewrite."
CHAIN = "torch.where does not fit: the condition is one of a longer chain."


@pytest.mark.parametrize(
    "body, text",
    [
        ("if x.any():\n        raise ValueError\n    return x", "torch._assert_async"),
        ("if x.any():\n        return x\n    return -x", "torch.where"),
        ("return x if x.any() else -x", "torch.where"),
        ("assert not x.any()\n    return x", "~x.any()"),
    ],
)
def test_dispatch(make: Any, body: str, text: str) -> None:
    case = make(f"import torch\ndef f(x):\n    {body}\n", marker="x.any")
    plan = rewrite_branch(case.hit, case.editor)
    assert isinstance(plan, FixPlan) and any(text in edit.text for edit in plan.edits)


@pytest.mark.parametrize("value", ["torch.tensor(True)", "torch.Tensor([True])", "torch.ones(1)"])
def test_a_flag_that_the_first_call_sets(make: Any, value: str) -> None:
    body = f"if self.ready:\n            return x\n        self.ready.data.copy_({value})\n        return -x"
    case = make(
        f"import torch\n\n\nclass Net:\n    def forward(self, x):\n        {body}\n", cst.Attribute, "self.ready"
    )
    assert "(self.ready != 0).all()" in case.after(take_as_set)


@pytest.mark.parametrize(
    "body, reason",
    [
        ("while x.any():\n        x = x - 1", LOOP),
        ("n, i = 5, 0\n    while x.any() and i < n:\n        x = x - 1\n        i += 1", BOUNDED),
        ("while x.any() and x.sum() < 5:\n        x = x - 1", LOOP),
        ("y = x.any() or x", MIDDLE),
        ("y = [i for i in x if x.any()]", MIDDLE),
        ("if x > 0:\n        y = x.any()", MIDDLE),
        ("if 1:\n        y = 1\n    elif x.any():\n        y = 2\n    else:\n        y = 3", CHAIN),
    ],
)  # fmt: skip
def test_refusals(make: Any, body: str, reason: str) -> None:
    case = make(f"import torch\ndef f(x):\n    {body}\n", marker="x.any")
    plan = rewrite_branch(case.hit, case.editor)
    assert not isinstance(plan, FixPlan) and plan.reason == reason


def test_branch_of_looks_through_operators(make: Any) -> None:
    case = make("def f(x):\n    if not (x.any() and x.all()):\n        return x\n", marker="x.all()")
    (function,) = case.editor.module.tree.body
    call = next(
        n for n in walk(case.editor.module.of(function)) if isinstance(n, cst.Call) and case.editor.code(n) == "x.all()"
    )
    assert isinstance(branch_of(call, case.editor), cst.If)
