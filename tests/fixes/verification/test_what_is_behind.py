"""A fix may let the run come to lines behind its break: one that breaks next is named, one that does not is refuted."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan

SOURCE = """\
import torch


def sample(x, sigmas):
    try:
        print("sample")
        return x * 2 if {test} else x
    except ValueError:
        return x


def graphdoctor_target():
    return sample, (torch.rand(4), torch.rand(3))
"""
#: The first line that breaks ends compiling, and the source does not show that the attribute is no tensor.
BEHIND = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = torch.tensor(0.5)
        self.usual = len(__file__) > 0

    def forward(self, x):
        for step in range(2):
            {first}
            x = x + 1
        if x.sum() > 0:
            x = x + 1
        {last}
        return x


def graphdoctor_target():
    net = Net()
    net.__dict__.update(limit=0.5)
    return net, (torch.rand(4),)
"""
SECOND = "if self.limit > 0.1: return x * 2"
UNSEEN = "if self.limit > 0.1: x = x * 1"


@pytest.mark.parametrize(("test", "named"), [("sigmas[0] == 0", True), ("sigmas.ndim", False)])
def test_the_line_that_breaks_behind_a_fix_is_named(tmp_path: Path, test: str, named: bool) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(test=test))
    verification = scan(ScanOptions((str(file),), isolated=True, mode="eval", select=("GD101",))).verification
    assert verification is not None
    assert verification.breaks == named
    assert (f"breaks next at `return x * 2 if {test} else x`" in verification.detail) is named


@pytest.mark.parametrize(
    ("first", "last", "status"),
    [
        ("print(step)", SECOND, "refuted"),
        # Compiling does not come there.
        ("print(step); torch._dynamo.graph_break()", SECOND, "static-only"),
        # It is not traced.
        (
            "print(step)",
            f"if not torch.compiler.is_compiling() or not self.usual:\n            {UNSEEN}",
            "static-only",
        ),
        ("print(step)", f"if not self.usual:\n            {SECOND}", "not-reached"),
    ],
)
def test_what_ran_with_the_fixes_and_did_not_break_is_refuted(
    tmp_path: Path, first: str, last: str, status: str
) -> None:
    file = tmp_path / "net.py"
    file.write_text(BEHIND.format(first=first, last=last))
    shown = scan(ScanOptions((str(file),), isolated=True, mode="eval"))
    found = next(finding for finding in shown.findings if "self.limit" in finding.fact)
    assert shown.verification is not None and (shown.verification.breaks == 0) is ("graph_break" not in first)
    assert found.status == status
    refuted = status == "refuted"
    assert (found.severity == "info") is refuted
    assert found.message.endswith("with the fixes applied, the line ran and nothing broke") is refuted
    assert shown.summary.errors == sum(finding.severity == "error" for finding in shown.findings)
    # Where the fix of the branch changes nothing that is compiled, that is said.
    branch = next(finding for finding in shown.findings if "x.sum()" in finding.fact)
    assert branch.fix is not None
    assert ("its line still runs in eager only" in branch.fix.detail) is ("graph_break" in first)
