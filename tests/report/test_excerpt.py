"""The marked part of a source line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphdoctor.model.findings import Diagnosis, Finding, Location
from graphdoctor.report.excerpt import WINDOW, marked_line, source_lines


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
