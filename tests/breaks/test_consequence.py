"""What a graph break costs, as the end of a message."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan
from graphdoctor.breaks.consequence import (
    consequence,
    given_up,
    measured,
    not_reached_yet,
    reason_once,
    site_of,
    split,
    unmeasured,
    with_lines,
)
from graphdoctor.model.findings import Finding, Location
from graphdoctor.model.runs import Break, Frame

LOOP = consequence("Net.forward", "for", 30)


@pytest.mark.parametrize("cost", [consequence(), LOOP, consequence("Net.forward", "try")])
def test_behind_a_break_the_consequence_is_a_condition(cost: str) -> None:
    predicted = f"`print(x)` in compiled code: {cost}"
    assert not_reached_yet(predicted, 7) == "`print(x)` in compiled code: a graph break once compiling gets past line 7"
    assert unmeasured(predicted) == "`print(x)` in compiled code: would break the graph"


def test_without_a_consequence_the_condition_is_added() -> None:
    assert not_reached_yet("other numbers recompile", 7) == "other numbers recompile (once compiling gets past line 7)"


def test_why_a_function_runs_uncompiled_is_said_once() -> None:
    finding = Finding("GD101", "n", "error", "certain", Location("m.py", 1, 1, 1, 2), "f", "", "", "")
    costs = [consequence("f", "for", 3), consequence("f", "for", 3), consequence("f", "with", 9), consequence()]
    texts = [f"{name}: {cost}" for name, cost in zip("abcd", costs, strict=True)]
    found = [each.message for each in reason_once(replace(finding, message=text) for text in texts)]
    assert found == [texts[0], "b: `f` runs uncompiled as a whole", *texts[2:]]


def test_the_function_that_is_lost_is_the_one_with_the_loop() -> None:
    finding = Finding("GD211", "n", "error", "certain", Location("m.py", 1, 1, 1, 2), "Block.forward", "", "", "")
    assert given_up(replace(finding, message=f"a number: {consequence('Model.forward', 'for')}")) == "Model.forward"
    assert given_up(replace(finding, message=f"a number: {consequence()}")) == "Block.forward"


def test_the_statement_that_cannot_be_split_is_named_with_its_line() -> None:
    assert LOOP == "`Net.forward` runs uncompiled as a whole, because Dynamo cannot split its `for` loop at line 30"
    # The line of another file would be taken for one of this.
    assert consequence("Net.forward", "try").endswith("cannot split its `try` block")
    elsewhere = consequence("Net.forward", "for", file="boxes.py")
    assert elsewhere.endswith("cannot split its `for` loop in boxes.py")
    assert split(f"print(): {elsewhere}") == "print(): this splits the graph"
    assert measured(f"print(): {elsewhere}", ("Net.forward",)).endswith("loop in boxes.py")
    assert consequence("Net.forward", "for", file="my boxes.py").endswith("cannot split its `for` loop")


def test_the_function_is_the_one_that_a_run_saw_given_up() -> None:
    assert measured(f"print(): {LOOP}", ()) == measured(f"print(): {LOOP}", ("Net.forward",)) == f"print(): {LOOP}"
    assert split(f"print(): {LOOP}") == split("print(): this splits the graph") == "print(): this splits the graph"
    assert measured(f"print(): {LOOP}", ("Model.forward",)) == "print(): `Model.forward` runs uncompiled as a whole"
    assert measured(f"print(): {consequence()}", ("f",)) == "print(): `f` runs uncompiled as a whole"


def test_lines_can_be_those_of_a_cell() -> None:
    assert with_lines(f"`f('gets past line 4')`: {LOOP}", lambda line: line - 29).endswith("`for` loop at line 1")
    waiting = not_reached_yet("print(): recompiles", 31)
    assert with_lines(waiting, lambda line: line - 29) == "print(): recompiles (once compiling gets past line 2)"
    assert "line 4" in with_lines(f"`f('gets past line 4')`: {LOOP}", lambda line: line - 29)


LEAVES_LOOP = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if x.max().item() > 99:
                return x
        return x


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
"""


def test_what_a_run_saw_of_a_loop_is_what_the_finding_says(tmp_path: Path) -> None:
    """In the bytecode of some versions of Python the `return` stands before the jump back, and Dynamo goes on."""
    file = tmp_path / "net.py"
    file.write_text(LEAVES_LOOP)
    found = scan(ScanOptions((str(file),), isolated=True, mode="eval", verify=False))
    finding = next(finding for finding in found.findings if finding.status == "confirmed")
    assert ("as a whole" in finding.message) is finding.whole_frame is bool(finding.dropped)


def test_two_places_of_a_library_below_one_line_are_two_sites() -> None:
    first = Break("m.py", 3, 1, "f", "GB0059", "x", "y", owner="third-party", stack=(Frame("lib.py", 7, "g"),))
    second = replace(first, stack=(Frame("lib.py", 8, "g"),))
    assert site_of(first) != site_of(second)
    assert site_of(replace(first, owner="own")) == site_of(replace(second, owner="own"))
