"""What a graph break costs: predicted, and after a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan
from graphdoctor.breaks.measured_costs import (
    behind,
    given_up,
    measured,
    measured_rest,
    not_reached_yet,
    reason_once,
    site_of,
    split,
    unmeasured,
    waits_for,
    where_recorded,
    with_fullgraph,
    with_lines,
)
from graphdoctor.model.consequence import SPLIT, Block, Consequence
from graphdoctor.model.findings import Finding, Location
from graphdoctor.model.runs import Break, Frame

LOOP = Consequence("whole", "Net.forward", Block("for", 30))


def ending(cost: Consequence | None) -> str:
    assert cost is not None
    return cost.ending


def finding(fact: str = "", cost: Consequence | None = None, function: str = "f") -> Finding:
    place = Location("m.py", 1, 1, 1, 2)
    return Finding("GD101", "n", "error", "certain", place, function, fact, "", "", consequence=cost)


@pytest.mark.parametrize("cost", [SPLIT, LOOP, Consequence("whole", "Net.forward", Block("try"))])
def test_behind_a_break_the_consequence_is_a_condition(cost: Consequence) -> None:
    waiting = finding("`print(x)`", not_reached_yet(cost, 7))
    assert waiting.message == "`print(x)`: a graph break once compiling gets past line 7"
    assert waits_for(waiting) == 7 and waits_for(finding("", cost)) == 0
    assert ending(unmeasured(cost)) == ": would break the graph"


def test_what_is_no_break_keeps_its_consequence_behind_one() -> None:
    assert unmeasured(None) is None
    assert ending(not_reached_yet(None, 7)) == " (once compiling gets past line 7)"
    recorded = not_reached_yet(Consequence("recorded", by_default="other numbers recompile"), 7)
    assert ending(recorded) == (
        ": other numbers recompile, and `fullgraph=True` fails (once compiling gets past line 7)"
    )


def test_a_number_that_is_recorded_by_default_is_one_break_fewer_or_more() -> None:
    recorded = Consequence("recorded", by_default="other numbers recompile")
    assert where_recorded(recorded, fullgraph=False) == SPLIT
    assert ending(where_recorded(recorded, fullgraph=True)) == ": with `fullgraph=True` compiling fails here"
    assert where_recorded(LOOP, fullgraph=True) == LOOP
    assert with_fullgraph(recorded) == recorded and with_fullgraph(LOOP) == where_recorded(recorded, fullgraph=True)


def test_why_a_function_runs_uncompiled_is_said_once() -> None:
    loop = Consequence("whole", "f", Block("for", 3))
    costs = [loop, loop, Consequence("whole", "f", Block("with", 9)), SPLIT, None]
    found = [each.consequence for each in reason_once(finding("", cost) for cost in costs)]
    assert found == [loop, Consequence("whole", "f"), *costs[2:]]


def test_the_function_that_is_lost_is_the_one_with_the_loop() -> None:
    assert given_up(finding("a number", Consequence("whole", "Model.forward"), "Block.forward")) == "Model.forward"
    assert given_up(finding("a number", SPLIT, "Block.forward")) == "Block.forward"


def test_the_statement_that_cannot_be_split_is_named_with_its_line() -> None:
    because = ": `Net.forward` runs uncompiled as a whole, because Dynamo cannot split its"
    assert LOOP.ending == f"{because} `for` loop at line 30"
    assert Consequence("whole", "Net.forward", Block("try")).ending == f"{because} `try` block"
    # The line of another file would be taken for one of this.
    elsewhere = Consequence("whole", "Net.forward", Block("for", file="my boxes.py"))
    assert elsewhere.ending == f"{because} `for` loop in my boxes.py"


def test_the_function_is_the_one_that_a_run_saw_given_up() -> None:
    assert measured(LOOP, ()) == measured(LOOP, ("Net.forward",)) == LOOP
    assert split(LOOP) == split(SPLIT) == SPLIT
    assert ending(split(LOOP, 2)) == ": this splits the graph 2 times"
    assert measured(LOOP, ("Model.forward",)) == Consequence("whole", "Model.forward")
    assert measured(SPLIT, ("f",)) == Consequence("whole", "f")
    assert measured(None, ("f",)) is split(None, 2) is None
    assert ending(measured_rest(LOOP, "f")) == ": what an earlier graph break left of `f` runs uncompiled"


def test_lines_can_be_those_of_a_cell() -> None:
    assert with_lines(LOOP, lambda line: line - 29) == Consequence("whole", "Net.forward", Block("for", 1))
    assert with_lines(Consequence("later", line=31), lambda line: line - 29) == Consequence("later", line=2)
    in_another_file = Consequence("whole", "Net.forward", Block("for", file="boxes.py"))
    assert with_lines(in_another_file, lambda line: line - 29) == in_another_file


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


def test_what_stands_behind_the_end_of_a_function_says_so_until_a_run_came_there() -> None:
    assert ending(behind(SPLIT, 14)) == ": this splits the graph, once line 14 no longer ends compiling"
    assert behind(Consequence("waits"), 14) == Consequence("waits") and behind(None, 14) is None
    assert split(behind(SPLIT, 14)) == SPLIT
    assert measured(behind(LOOP, 14), ["Net.forward"]) == LOOP
    assert ending(with_lines(behind(SPLIT, 14), lambda line: line - 10)).endswith(
        "once line 4 no longer ends compiling"
    )
