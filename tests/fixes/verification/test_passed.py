"""Findings at which nothing broke in the code with the fixes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graphdoctor.fixes.verification.passed import passed, traced
from graphdoctor.fixes.verification.trials import Trial
from graphdoctor.model.findings import Edit, Finding, Fix, Location
from graphdoctor.model.runs import DynamicRun

TEXT = "import torch\nprint(x)\ny = f(\n    x,\n)\nz = y or g(x)\n"
#: ``if c:``, a line of its own and the statement, in place of the second line of the text.
GUARD = Edit("m.py", (2, 1), (2, 9), "if c:\n    pass\n    print(x)")
IMPORT = Edit("m.py", (1, 1), (1, 1), "import os\n")


def finding(line: int, column: int = 1, *edits: Edit) -> Finding:
    place = Location("m.py", line, column, line, column + 4)
    fix = Fix("safe", "reason", edits) if edits else None
    return Finding("GD101", "n", "error", "certain", place, "f", "m", "w", "s", fix=fix, fingerprint=f"{line}:{column}")


def trial(*lines: Sequence[int]) -> Trial:
    """Both edits made, and in each run these ``lines`` of the fixed text were traced."""
    runs = [DynamicRun("f", "eval", "cpu", "ok", executed={"m.py": frozenset(found)}) for found in lines]
    return Trial((finding(2, 1, GUARD, IMPORT),), tuple(runs), "")


@pytest.mark.parametrize(
    ("place", "lines", "passes"),
    [
        ((3, 5), [[2, 3, 6]], True),
        ((4, 5), [[3, 7]], True),
        ((4, 5), [[3, 6]], False),
        ((3, 5), [[6], [6, 7]], True),
        # In one of two modes.
        ((3, 5), [[6], [7]], False),
        ((3, 5), [[]], False),
        # The line before which one is put stays as it is; what a fix changes is other code.
        ((1, 8), [[2]], True),
        ((2, 1), [[2, 3, 4, 5]], False),
        ((2, 7), [[2, 3, 4, 5]], False),
        # The line may run without the operand.
        ((6, 5), [[9]], True),
        ((6, 10), [[9]], False),
        # More lines than the text has.
        ((6, 5), [[99]], False),
    ],
)
def test_the_line_was_traced_in_each_run_and_is_that_of_the_original(
    place: tuple[int, int], lines: list[list[int]], passes: bool
) -> None:
    found = finding(*place)
    assert passed([found], trial(*lines), {"m.py": TEXT}) == ({found.fingerprint} if passes else set())


def test_a_finding_whose_fix_is_made_and_one_in_an_unknown_file_are_left_out() -> None:
    first = finding(3, 5)
    made = Trial((finding(3, 5, IMPORT),), trial([4]).runs, "")
    assert passed([first], made, {"m.py": TEXT}) == frozenset()
    assert passed([first], trial([6]), {}) == frozenset()


def test_traced_lines_count_as_those_that_they_come_from() -> None:
    assert traced("m.py", TEXT, trial([1, 3, 4, 6, 99], [])) == [{1, 2, 3}, set()]
    assert traced("other.py", TEXT, trial([1])) == [set()]
