"""Whose a break is that happened in a function of a library which a finding names at the user's call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.diagnosis.own_calls import with_own_calls
from graphdoctor.model.findings import Location
from graphdoctor.model.runs import Sweep


@pytest.mark.parametrize(
    ("expression", "called", "owner"),
    [
        ("next_fast_len(n)", "next_fast_len", "own"),
        ("scipy.fftpack.next_fast_len(\n    n,\n)", "next_fast_len", "own"),
        ("self.fast_len(n)", "next_fast_len", "third-party"),
        ("print(next_fast_len(n))", "next_fast_len", "third-party"),
        ("sizes[0](n)", "next_fast_len", "third-party"),
        ("next_fast_len", "next_fast_len", "third-party"),
        ("if n:", "next_fast_len", "third-party"),
        ("next_fast_len(n)", "_Backend.__ua_function__", "third-party"),
    ],
)
def test_the_call_that_a_finding_names_is_the_users(build: Any, expression: str, called: str, owner: str) -> None:
    stack = (build.frame("m.py", 5, "Net.forward"), build.frame("/site-packages/scipy/h.py", 102, called))
    entry = build.brk(owner="third-party", stack=stack)
    runs = [build.run(entry, sweeps=(Sweep("batch 4, 5", True, 2, 2, breaks=(entry,)),))]
    lines = expression.split("\n")
    place = Location("m.py", 5, 5, 4 + len(lines), len(lines[-1]) + (5 if len(lines) == 1 else 1))
    texts = {"m.py": "\n" * 4 + "n = " + expression + "  # the size\n"}
    found = [replace(build.finding(), location=place)]
    (run,) = with_own_calls(runs, found, texts)
    assert [b.owner for b in (*run.breaks, *run.varied_breaks)] == [owner, owner]


def test_what_no_finding_expects_stays_the_librarys(build: Any) -> None:
    stack = (build.frame("m.py", 5, "Net.forward"), build.frame("/site-packages/scipy/h.py", 102, "good_size"))
    runs = (build.run(build.brk(owner="third-party", stack=stack), build.brk(9, owner="torch")),)
    texts = {"m.py": "\n" * 4 + "good_size(n)\n" * 2, "other.py": "\n" * 4 + "good_size(n)\n"}
    here = replace(build.finding(), location=Location("m.py", 5, 1, 5, 13))
    elsewhere = [replace(here, location=replace(here.location, **at)) for at in ({"line": 6}, {"path": "other.py"})]
    assert with_own_calls(runs, [here], texts) != runs
    assert with_own_calls(runs, [here], {}) == runs
    assert with_own_calls(runs, [*elsewhere, replace(here, gb_ids=("GB0001",))], texts) == runs
    without_stack = (build.run(build.brk(owner="third-party")),)
    assert with_own_calls(without_stack, [here], texts) == without_stack
