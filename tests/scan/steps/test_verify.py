"""What is said of fixes that were not tried, and of findings that the code with the fixes passed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphdoctor.model.findings import Finding, Location
from graphdoctor.model.runs import DynamicRun, Outcome
from graphdoctor.scan.source_texts import Sources
from graphdoctor.scan.steps.join import Joined
from graphdoctor.scan.steps.verify import Verified, nothing_to_compare


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("raised", "the original code did not run to its end in eager"),
        ("timeout", "was stopped at the time limit, which --timeout makes longer"),
        ("memory", "was stopped at the memory limit; with --shrink it needs less"),
    ],
)
def test_a_limit_is_not_blamed_on_the_code(outcome: Outcome, said: str) -> None:
    runs = (DynamicRun("Net", "eval", "cpu", "ok"), DynamicRun("Net", "train", "cpu", outcome))
    assert nothing_to_compare(runs).endswith(said)


def test_what_the_fixed_code_passed_stays_so_when_findings_are_joined_again() -> None:
    """Unless calls with other inputs broke there, or will once a size has varied."""
    place = Location("m.py", 3, 5, 3, 9)
    known = Finding("GD201", "n", "error", "certain", place, "f", "m", "w", "s", gb_ids=("GB0170",), fingerprint="A")
    broken = replace(known, status="confirmed", fingerprint="B")
    varying = replace(known, rule="GD999", fingerprint="C")
    joined = Joined((known, broken, varying), Sources({}, {}), frozenset({"GD999"}))
    again = Verified((), passed=frozenset("ABC")).joined_again(joined)
    assert [finding.status for finding in again.findings] == ["refuted", "confirmed", "static-only"]
