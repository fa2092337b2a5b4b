"""What a fix may be called, and what is needed to write it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphdoctor.model.findings import Edit, Finding, Fix, Location
from graphdoctor.model.labels import needs_unsafe

FIX = Fix("safe", "reason", (Edit("m.py", (1, 1), (1, 2), "y"),), "diff")
FOUND = Finding(
    "GD101", "n", "error", "certain", Location("m.py", 1, 1, 1, 2), "f", "m", "w", "s", fingerprint="a", fix=FIX
)
UNSAFE = replace(FOUND, fingerprint="b", fix=replace(FIX, safety="unsafe"))


@pytest.mark.parametrize(("tried", "needed"), [("a", False), ("b", True), ("ab", True), ("", False)])
def test_only_what_was_tried_asks_for_unsafe_fixes(tried: str, needed: bool) -> None:
    """The command and the patch of a report leave out an unsafe fix that no run has tried."""
    assert needs_unsafe([FOUND, UNSAFE], tried) is needed
