"""What may be done after a branch with a tensor that the rewrite replaces by a new one."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.proof.aliasing import is_only_read, is_written

HEAD = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor, flag: bool):
"""
READ = ["return x + 1", "return self.linear(x)", "y = x.relu()\nreturn y.sum()", "print(x, x.mean())\nreturn x + 1", "return x.shape[0] * x.exp()",
        "if x.ndim > 2:\n    return x.abs()\nreturn -x + 1"]  # fmt: skip
KEPT = ["return x", "return (x + 1, x)", "return x[0]", "return x.view(-1)", "return x.T + 0 if flag else x",
        "self.last = x\nreturn x + 1", "x += 1\nreturn x + 1", "x[0] = 1\nreturn x + 1", "return self.act(x)",
        "return helper(x)", "y = x\nreturn y + 1", "return [x, x + 1]", "return lambda: x + 1", "yield x + 1",
        "with flag:\n    x.add_(1)\nreturn x + 1", "return x.contiguous()", "return x.detach()",
        "return torch.add(x, 1, out=x)"]  # fmt: skip


def branch(make: Any, body: str) -> Any:
    lines = f"if x.sum() > 0:\n    x = x * 2\n{body}".split("\n")
    return make(HEAD + "".join(f"        {line}\n" for line in lines), cst.If, "x.sum()")


@pytest.mark.parametrize("body", READ)
def test_new_tensors_are_computed_from_it(make: Any, body: str) -> None:
    case = branch(make, body)
    assert is_only_read(frozenset({"x"}), case.hit.event.branch, case.editor)


@pytest.mark.parametrize("body", KEPT)
def test_it_is_given_away_or_changed(make: Any, body: str) -> None:
    case = branch(make, body)
    assert not is_only_read(frozenset({"x"}), case.hit.event.branch, case.editor)


def test_in_a_loop_what_stands_before_runs_behind(make: Any) -> None:
    body = "for _ in range(2):\n    self.last = x\n    if x.mean() > 0:\n        x = x * 2\nreturn x + 1"
    source = HEAD + "".join(f"        {line}\n" for line in body.split("\n"))
    case = make(source, cst.If, "x.mean()")
    assert not is_only_read(frozenset({"x"}), case.hit.event.branch, case.editor)


@pytest.mark.parametrize(
    "body, written",
    [
        ("x.add_(1)", True), ("x += 1", True), ("x[0] = 1", True), ("x.data = x + 1", True), ("torch.add(x, 1, out=x)", True),
        ("torch.relu_(x)", True), ("y = x + 1", False), ("x = x + 1", False), ("y = x.add(1)\ny.mul_(2)", False),
    ],
)  # fmt: skip
def test_changes_in_place(make: Any, body: str, written: bool) -> None:
    case = branch(make, body)
    assert is_written("x", case.hit.event.branch, case.editor) is written
