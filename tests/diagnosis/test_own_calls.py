"""Whose a break is that happened in a function of a library which a finding names at the user's call."""

from __future__ import annotations

from typing import Any

import pytest

from graphdoctor.diagnosis.own_calls import with_own_calls


@pytest.mark.parametrize(
    ("message", "called", "owner"),
    [
        ("`next_fast_len(n)` is not traced by Dynamo", "next_fast_len", "own"),
        ("`scipy.fftpack.next_fast_len(n)` is not traced by Dynamo", "next_fast_len", "own"),
        ("`print(next_fast_len(n))` in compiled code", "next_fast_len", "third-party"),
        ("`len(n)` is not traced by Dynamo", "next_fast_len", "third-party"),
        ("`next_fast_len(n)` is not traced by Dynamo", "_Backend.__ua_function__", "third-party"),
    ],
)
def test_the_call_that_a_finding_names_is_the_users(build: Any, message: str, called: str, owner: str) -> None:
    stack = (build.frame("m.py", 5, "Net.forward"), build.frame("/site-packages/scipy/h.py", 102, called))
    runs = [build.run(build.brk(owner="third-party", stack=stack))]
    finding = build.finding(message=message)
    assert [b.owner for run in with_own_calls(runs, [finding]) for b in run.breaks] == [owner]


def test_what_no_finding_expects_stays_the_librarys(build: Any) -> None:
    stack = (build.frame("m.py", 5, "Net.forward"), build.frame("/site-packages/scipy/h.py", 102, "good_size"))
    runs = (build.run(build.brk(owner="third-party", stack=stack), build.brk(9, owner="torch")),)
    message = "`good_size(n)` is not traced by Dynamo"
    elsewhere = [build.finding(6, message=message), build.finding(path="other.py", message=message)]
    assert with_own_calls(runs, [*elsewhere, build.finding(message=message, gb_ids=("GB0001",))]) == runs
    assert with_own_calls([build.run(build.brk(owner="third-party"))], [build.finding(message=message)]) == (
        build.run(build.brk(owner="third-party")),
    )
