"""Lines of which only one runs, and lines that run before others."""

from __future__ import annotations

from textwrap import dedent

import pytest

from graphdoctor.syntax.arms import are_exclusive, comes_first

TEXT = dedent("""\
    def f(x, mode):
        if mode == 1:
            x = x + 1
        elif mode == 2:
            x = x + 2
            if x.ndim:
                x = x + 3
        else:
            x = x + 4
        for row in x:
            x = x + 5
        try:
            x = x + 6
        except ValueError:
            x = x + 7
        match mode:
            case 1:
                x = x + 8
            case _:
                x = x + 9
        return x


    def g(x):
        return x
    """)
#: The line of each ``x + N``.
LINE = {int(line.rsplit("+ ", 1)[1]): at for at, line in enumerate(TEXT.splitlines(), 1) if "x + " in line}


@pytest.mark.parametrize(("one", "other"), [(1, 2), (1, 3), (2, 4), (3, 4), (8, 9)])
def test_of_the_arms_of_a_condition_one_runs(one: int, other: int) -> None:
    assert are_exclusive(TEXT, LINE[one], LINE[other])
    assert are_exclusive(TEXT, LINE[other], LINE[one])
    assert not comes_first(TEXT, LINE[one], LINE[other])


@pytest.mark.parametrize(("one", "other"), [(2, 3), (1, 5), (5, 6), (6, 7), (7, 8)])
def test_other_lines_may_both_run(one: int, other: int) -> None:
    assert not are_exclusive(TEXT, LINE[one], LINE[other])


def test_what_stands_above_in_the_same_body_or_around_it_runs_first() -> None:
    assert comes_first(TEXT, LINE[2], LINE[3])
    assert comes_first(TEXT, 2, LINE[9])
    # The rows may be none, and the call may leave out what is under a condition.
    assert not comes_first(TEXT, LINE[5], LINE[6])
    assert not comes_first(TEXT, LINE[3], LINE[5])
    assert not comes_first(TEXT, LINE[6], LINE[7])
    assert not comes_first(TEXT, LINE[3], LINE[2])


def test_nothing_is_said_of_other_functions_or_of_what_is_no_python() -> None:
    last = len(TEXT.splitlines())
    assert not comes_first(TEXT, 2, last)
    assert not are_exclusive(TEXT, LINE[1], last)
    assert not are_exclusive("if x:\n  a b\nelse:\n  c", 2, 4)
