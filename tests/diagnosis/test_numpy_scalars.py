"""A finding whose breaks all come of numpy scalars tells the caller what to pass."""

from __future__ import annotations

from typing import Any

from graphdoctor.diagnosis.join import join
from graphdoctor.model.findings import Fix


def test_only_where_all_breaks_of_a_finding_come_of_them(build: Any) -> None:
    marked = build.brk(5, as_numbers=("int(n)", "float(s)"))
    other = build.brk(5, column=7, gb_id="GB0170")
    expected = build.finding(fact="`if` on tensor data `n`: x", fix=Fix("safe", "reason"))
    (told,) = join([expected], [build.run(marked)], {})
    assert (told.message, told.fix) == ("`if` on the numpy scalar `n`: x", None)
    assert "the value of `n` and `s`" in told.why
    assert told.suggestion.startswith("pass `int(n)` and `float(s)` in place of the numpy scalars:")
    (both,) = join([expected], [build.run(marked, other)], {})
    assert (both.suggestion, both.fix) == (expected.suggestion, expected.fix)


def test_a_break_that_nothing_expected_says_so_too(build: Any) -> None:
    (found,) = join([], [build.run(build.brk(7, as_numbers=("int(n)",)))], {})
    assert found.suggestion.startswith("pass `int(n)` in place of the numpy scalar:")
