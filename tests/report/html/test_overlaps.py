"""Which changes cannot be copied one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.model.findings import Edit, Finding, Fix, Location
from graphdoctor.report.html.overlaps import covered, overlaps

IMPORT = Edit("m.py", (1, 1), (1, 1), "import torch\n")


def finding(line: int, path: str = "m.py", safety: Any = "safe", diff: str = "") -> Finding:
    edits = (IMPORT, Edit(path, (line, 1), (line, 9), f"line {line}"))
    fix = Fix(safety, "reason", edits, diff or f"{path} {line}")
    place = Location(path, line, 1, line, 9)
    return Finding("GD101", "n", "error", "certain", place, "f", "m", "w", "s", status="confirmed", fix=fix)


@pytest.mark.parametrize(
    ("second", "found"),
    [
        pytest.param(finding(13), {0: (1,), 1: (0,)}, id="within the context of a patch"),
        pytest.param(finding(30), {}, id="an import that both add is no conflict"),
        pytest.param(finding(13, "other.py"), {}, id="another file"),
        pytest.param(finding(13, safety="manual"), {}, id="not offered"),
        pytest.param(finding(13, diff="m.py 10"), {}, id="one change for two findings"),
    ],
)
def test_changes_near_to_each_other(second: Finding, found: dict[int, tuple[int, ...]]) -> None:
    assert overlaps([finding(10), second]) == found


def test_a_finding_in_the_lines_that_a_tried_fix_changes_is_covered() -> None:
    tried, inside, beside = finding(10), finding(10, diff="another"), finding(11)
    marked = [replace(f, fingerprint=name) for f, name in ((tried, "a"), (inside, "b"), (beside, "c"))]
    assert covered(marked, ["a"], []) == {1: 0}
    # What was tried itself is not covered, and what is put before a line covers nothing.
    assert covered(marked, ["a", "b"], []) == {}
    # What was tried and dropped says why.
    assert covered(marked, ["a"], ["b"]) == {}
    above = replace(tried, fingerprint="a", fix=Fix("safe", "reason", (IMPORT,), "diff"))
    assert covered([above, replace(finding(1), fingerprint="b")], ["a"], []) == {}
