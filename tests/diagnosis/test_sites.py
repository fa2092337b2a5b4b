"""Which breaks are one place."""

from __future__ import annotations

from typing import Any

import pytest

from graphdoctor.diagnosis.sites import called_from, sites
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


def test_the_calls_before_a_place_are_those_of_users(build: Any) -> None:
    torch = "/usr/lib/python3/site-packages/torch/nn/modules/container.py"
    stack = (
        build.frame("m.py", 21, "Net.forward"),
        build.frame(torch, 253, "Sequential.forward"),
        # A comprehension has a frame of its own.
        build.frame("m.py", 11, "Block.forward"),
        build.frame("m.py", 11, "Block.forward"),
        build.frame("helpers.py", 9, "clip"),
    )
    brk = build.brk(path="helpers.py", line=9, stack=stack)

    def lines(**place: Any) -> list[int]:
        return [caller.line for caller in called_from(brk, build.finding(**place).location)]

    assert lines(path="helpers.py", line=9) == [21, 11]
    assert lines(line=11) == [21]
    assert lines(line=30) == []
