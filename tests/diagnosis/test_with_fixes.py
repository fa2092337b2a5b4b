"""What the run with the fixes shows of findings that the run of the original did not judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.diagnosis.with_fixes import with_fixes
from graphdoctor.model.findings import Finding, Location

PLACE = Location("m.py", 3, 5, 3, 9)
OPEN = Finding(
    "GD201", "n", "error", "certain", PLACE, "f", "`if` on `x`", "w", "s", gb_ids=("GB0170",), fingerprint="A"
)


@pytest.mark.parametrize("status", ["static-only", "not-reached"])
def test_what_no_run_had_judged_is_refuted_by_the_run_with_the_fixes(status: Any) -> None:
    (found,) = with_fixes([replace(OPEN, status=status)], {"A"}, ())
    assert (found.status, found.severity) == ("refuted", "info")
    assert found.message == "`if` on `x`: with the fixes applied, the line ran and nothing broke"


@pytest.mark.parametrize(
    "finding",
    [
        replace(OPEN, fingerprint="B"),
        replace(OPEN, status="confirmed"),
        replace(OPEN, status="dynamic-only"),
        replace(OPEN, status="refuted"),
        # What is no graph break, or one of a wrong use of torch.compile.
        replace(OPEN, gb_ids=()),
        replace(OPEN, rule="GD601"),
        # It breaks once a size has varied.
        replace(OPEN, rule="GD999"),
    ],
)
def test_everything_else_stays(finding: Finding) -> None:
    assert with_fixes([finding], {"A"}, {"GD999"}) == (finding,)
