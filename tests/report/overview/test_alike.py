"""Findings that say the same of several lines are shown once, with the other lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from graphdoctor.model.consequence import Block, Consequence
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.report.overview.alike import others, together


def at(finding: Finding, line: int, code: str = 'print("input", x.shape)', **changes: object) -> Finding:
    column = 9
    text = f"{' ' * (column - 1)}{code}"
    place = replace(finding.location, line=line, column=column, end_line=line, end_column=len(text) + 1)
    return replace(finding, location=place, snippet=(text,), snippet_start=line, **changes)  # type: ignore[arg-type]


@pytest.fixture
def finding(rich: Diagnosis) -> Finding:
    return replace(rich.findings[0], status="static-only", fix=None, events=0)


def lines(groups: Sequence[Sequence[Finding]]) -> list[list[int]]:
    return [[each.location.line for each in alike] for alike in groups]


def test_one_rule_in_one_function_with_one_advice(finding: Finding, rich: Diagnosis) -> None:
    found = [
        at(finding, 3),
        at(finding, 4, function="Net.other"),
        at(finding, 5, fix=rich.findings[0].fix),
        at(finding, 6, suggestion="Do it in the constructor."),
        at(finding, 7, severity="warning"),
        at(finding, 8),
    ]
    assert lines(together(found)) == [[3, 5, 8], [4], [6], [7]]


def test_what_a_run_saw_is_told_apart_by_its_cost(finding: Finding) -> None:
    found = [at(finding, 3, status="confirmed", events=n) for n in (1, 2, 1)]
    assert [len(alike) for alike in together(found)] == [2, 1]


def test_the_costliest_comes_first(finding: Finding) -> None:
    whole = Consequence("whole", "Net.forward")
    found = [
        at(finding, 3),
        at(finding, 4, whole_frame=True, consequence=whole),
        at(finding, 5, whole_frame=True, consequence=replace(whole, block=Block("for", 5))),
    ]
    assert lines(together(found)) == [[5, 4, 3]]


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ({3: "print(x)", 5: "print(x)"}, "line 5"),
        ({3: "print(x)", 5: "print(x)", 9: "print(x)"}, "lines 5 and 9"),
        ({3: "print(x)", 5: "print(y)", 9: "print(x)"}, "line 5 `print(y)`, line 9 `print(x)`"),
        ({3: "print(x)", 5: f"print({'y' * 50})"}, f"line 5 `print({'y' * 31}...`"),
        ({3: "print(x)", 5: "print('`')"}, "line 5"),
        (
            {n: f"print({n})" for n in range(9)},
            ", ".join(f"line {n} `print({n})`" for n in range(1, 7)) + ", and lines 7 and 8",
        ),
    ],
)
def test_the_others_are_named_by_line_and_by_code_that_differs(
    finding: Finding, codes: dict[int, str], text: str
) -> None:
    assert others([at(finding, line, code) for line, code in codes.items()]) == text


def test_places_on_one_line_are_counted(finding: Finding) -> None:
    assert others([at(finding, line) for line in (3, 4, 4)]) == "line 4 (2 places)"
