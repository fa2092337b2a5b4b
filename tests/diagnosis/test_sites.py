"""Which breaks are one place."""

from __future__ import annotations

from typing import Any

import pytest

from graphdoctor.diagnosis.sites import sites
from graphdoctor.model.runs import DynamicRun


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        ((9, None), [(9, 2)]),
        ((None, 9), [(9, 2)]),
        ((None, None), [(None, 2)]),
        ((9, 20, None), [(9, 1), (20, 1), (None, 1)]),
    ],
)
def test_a_break_without_a_column_is_the_only_one_of_its_line(build: Any, columns: Any, kept: Any) -> None:
    breaks = tuple(build.brk(line=3, column=column) for column in columns)
    found = sites([DynamicRun("Net", "eval", "cpu", "ok", breaks=breaks)])
    assert [(site.first.column, site.events) for site in found] == kept
