"""Room for deep code."""

from __future__ import annotations

import resource
import sys

import pytest

from graphdoctor.syntax.recursion_limit import RECURSION, deep_recursion


def nested(depth: int) -> int:
    return 1 + nested(depth - 1) if depth else 0


def leaf() -> None:
    return


def calls_at_each_depth(depth: int) -> None:
    for _ in range(200):
        leaf()
    if depth:
        calls_at_each_depth(depth - 1)


def test_a_decorated_function_may_nest_deeper_than_python_allows_by_default():
    limit = sys.getrecursionlimit()
    assert deep_recursion(nested)(RECURSION - 500) == RECURSION - 500
    assert sys.getrecursionlimit() == limit


def test_the_limit_is_back_after_an_error():
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        deep_recursion(nested)(RECURSION)
    assert sys.getrecursionlimit() == limit


def test_calls_at_the_edge_of_a_block_of_frames_take_no_memory_from_the_system():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    deep_recursion(calls_at_each_depth)(600)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 200
