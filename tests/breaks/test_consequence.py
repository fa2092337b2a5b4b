"""What a graph break costs, as the end of a message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphdoctor.breaks.consequence import behind, consequence, given_up, reason_once, unmeasured
from graphdoctor.model.findings import Finding, Location


@pytest.mark.parametrize("whole", ["", "Net.forward"])
def test_behind_a_break_the_consequence_is_a_condition(whole: str) -> None:
    predicted = f"`print(x)` in compiled code: {consequence(whole)}"
    assert behind(predicted, 7) == "`print(x)` in compiled code: a graph break once compiling gets past line 7"
    assert unmeasured(predicted) == "`print(x)` in compiled code: would break the graph"


def test_without_a_consequence_the_condition_is_added() -> None:
    assert behind("other numbers recompile", 7) == "other numbers recompile (once compiling gets past line 7)"


def test_why_a_function_runs_uncompiled_is_said_once() -> None:
    finding = Finding("GD101", "n", "error", "certain", Location("m.py", 1, 1, 1, 2), "f", "", "", "")
    texts = [f"a: {consequence('f')}", f"b: {consequence('f')}", f"c: {consequence('g')}", f"d: {consequence('')}"]
    found = [each.message for each in reason_once(replace(finding, message=text) for text in texts)]
    assert found == [texts[0], "b: `f` runs uncompiled as a whole", *texts[2:]]


def test_the_function_that_is_lost_is_the_one_with_the_loop() -> None:
    finding = Finding("GD211", "n", "error", "certain", Location("m.py", 1, 1, 1, 2), "Block.forward", "", "", "")
    assert given_up(replace(finding, message=f"a number: {consequence('Model.forward')}")) == "Model.forward"
    assert given_up(replace(finding, message=f"a number: {consequence('')}")) == "Block.forward"
