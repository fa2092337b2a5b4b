"""A fix that removes its break stands, though the next break then appears."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.fixes.verification.moved_on import stood_behind
from graphdoctor.model.findings import Edit, Finding, Fix, Location
from graphdoctor.model.runs import Break

ORIGINAL = "if bad(x): x = x * host(x) + bad(y)\n"


def is_behind(fixed: str, column: int | None, original: str = ORIGINAL) -> bool:
    """Whether a break in the column of the fixed line was behind ``bad(x)``, whose fix changes the whole line."""
    place = Location("m.py", 1, 4, 1, 10)
    fix = Fix("safe", "reason", (Edit("m.py", (1, 1), (1, len(original)), fixed),))
    found = Finding("GD201", "n", "error", "certain", place, "f", "m", "w", "s", fix=fix)
    return stood_behind(Break("m.py", 1, column, "f", "GB0059", "x", "y"), found, original, fixed)


@pytest.mark.parametrize(
    ("fixed", "broken", "expected"),
    [
        ("x = torch.where(good(x), x * host(x) + bad(y), x)\n", "host", True),
        ("x = torch.where(good(x), x * host(x) + bad(y), x)\n", "bad", True),
        # The fix trades its break for another, or leaves it.
        ("x = torch.where(good(x), x * host(x) + bad(y), x)\n", "good", False),
        ("x = torch.where(bad(x), x * host(x) + bad(y), x)\n", "bad", False),
        ("x = = host(x)", "host", False),
    ],
)
def test_what_breaks_now_stood_behind_where_the_original_has_it_elsewhere(
    fixed: str, broken: str, expected: bool
) -> None:
    assert is_behind(fixed, fixed.index(broken) + 1) is expected


def test_what_cannot_be_told_apart_breaks_as_before() -> None:
    fixed = "if good(x): x = x * bad(x)\n"
    assert not is_behind(fixed, fixed.index("bad") + 1, "if bad(x): x = x * bad(x)\n")
    assert not is_behind(fixed, None, "if bad(x): x = x * host(x)\n")


ONE_LINE = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = x.sin()
        for _ in range(2):
            print("first"); y = x * 2; torch._dynamo.graph_break()
        return y + 1

def graphdoctor_target():
    return Net(), (torch.ones(3),)
"""


def test_the_break_that_is_met_next_may_be_on_the_same_line(
    graphdoctor: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Of a function that the first break ends, the second one was not seen before."""
    (tmp_path / "net.py").write_text(ONE_LINE)
    done = graphdoctor("scan", "net.py", "--output-format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    (fix,) = [finding["fix"] for finding in report["findings"] if finding["rule"] == "GD101"]
    assert (fix["grade"], fix["label"]) == ("general", "safe"), report["verification"]
    assert report["verification"]["dropped"] == []
