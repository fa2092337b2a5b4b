"""The marked part of a source line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphdoctor.model.findings import Caller, Diagnosis, Finding, Location
from graphdoctor.report.excerpt import WINDOW, called_from, marked_line, source_lines


@pytest.fixture
def finding(rich: Diagnosis) -> Finding:
    return rich.findings[0]


def _at(finding: Finding, lines: tuple[str, ...], place: tuple[int, int, int, int]) -> Finding:
    return replace(finding, snippet=lines, snippet_start=1, location=Location("a.py", *place))


def test_parts_of_the_marked_line(finding: Finding) -> None:
    line = marked_line(_at(finding, ("x = 1", "y = f(x) + 2"), (2, 5, 2, 9)))
    assert line is not None
    assert (line.number, line.before, line.marked, line.after) == (2, "y = ", "f(x)", " + 2")


def test_lines_of_context_have_no_mark(finding: Finding) -> None:
    lines = source_lines(_at(finding, ("x = 1", "y = f(x)", "z = 2"), (2, 5, 2, 9)))
    assert [line.marked for line in lines] == ["", "f(x)", ""]
    assert [line.text for line in lines] == ["x = 1", "y = f(x)", "z = 2"]


def test_a_span_of_several_lines_leaves_out_the_indent(finding: Finding) -> None:
    lines = source_lines(_at(finding, ("f(", "    x,", ")  # end"), (1, 1, 3, 2)))
    assert [line.marked for line in lines] == ["f(", "x,", ")"]


def test_columns_beyond_the_line_do_no_harm(finding: Finding) -> None:
    line = marked_line(_at(finding, ("x",), (1, 50, 1, 60)))
    assert line is not None
    assert line.text == "x"


def test_no_snippet_no_line(finding: Finding) -> None:
    assert marked_line(_at(finding, (), (1, 1, 1, 2))) is None


def test_columns_count_raw_characters_before_they_are_escaped(finding: Finding) -> None:
    line = marked_line(_at(finding, ("\x1b\tprint(x)",), (1, 3, 1, 11)))
    assert line is not None
    assert (line.before, line.marked) == ("\\x1b    ", "print(x)")


@pytest.mark.parametrize("start", [1, 5_000, 9_992])
def test_a_long_line_is_a_window_around_the_mark(finding: Finding, start: int) -> None:
    text = "x" * (start - 1) + "print(x)" + "y" * (10_000 - start - 7)
    line = marked_line(_at(finding, (text,), (1, start, 1, start + 8)))
    assert line is not None
    assert line.marked == "print(x)"
    assert len(line.text) <= WINDOW + 2


def test_a_place_of_which_only_the_beginning_is_known_is_hit_without_a_mark(finding: Finding) -> None:
    lines = source_lines(_at(finding, ("x = 1", "y = f(x)", "z = 2"), (2, 5, 2, 5)))
    assert [(line.hit, line.marked) for line in lines] == [(False, ""), (True, ""), (False, "")]


def test_a_long_line_of_which_only_the_beginning_is_known_is_shown(finding: Finding) -> None:
    """A run names the line of an operator that raises, and no columns."""
    code = "    return cross_entropy(" + "logits, " * 30 + ")"
    line = marked_line(_at(finding, (code,), (1, 1, 1, 1)))
    assert line is not None and (line.before, line.marked) == ("    ", "")
    assert line.text.startswith("    return cross_entropy(logits, ") and len(line.text) <= WINDOW + 2


def test_the_way_to_a_finding_begins_with_the_nearest_call(rich: Diagnosis) -> None:
    finding = replace(rich.findings[0], function="clip", called_from=(Caller("m.py", 3, "Net.forward"),))
    assert called_from(finding) == "`Net.forward` (m.py:3)"
    steps = tuple(Caller("m.py", line, f"step_{line}") for line in range(9))
    assert called_from(replace(finding, called_from=steps)) == (
        "`step_8` (m.py:8), from `step_7` (m.py:7), from 6 more calls, from `step_0` (m.py:0)"
    )
    assert called_from(replace(finding, called_from=())) == ""


def test_modules_that_call_each_other_in_one_file_need_no_word(rich: Diagnosis) -> None:
    path = rich.findings[0].location.path
    called = replace(rich.findings[0], function="Block.forward", called_from=(Caller(path, 3, "Net.forward"),))
    assert called_from(called) == ""
    assert called_from(called, always=True) == f"`Net.forward` ({path}:3)"
    elsewhere = replace(called, called_from=(Caller("other.py", 3, "Net.forward"),))
    assert called_from(elsewhere) == "`Net.forward` (other.py:3)"
