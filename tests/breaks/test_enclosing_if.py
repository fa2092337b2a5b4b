"""The condition behind which a line is reached."""

from __future__ import annotations

import pytest

from graphdoctor.breaks.enclosing_if import condition_at

TEXT = """\
if FLAG:
    def pad(x, n):
        if n > 0:
            warn(n)
            for i in x:
                warn(i)
        elif n is None:
            warn()
        else:
            if x and n: return f(x)
            g(x)
        return x
def other(x):
    if a or b:
        pass
    else:
        warn(x)
    if all_of_them_are_much_longer_than_anybody_wants_to_read == "in a report":
        warn(x)
"""


@pytest.mark.parametrize(
    ("line", "condition"),
    [
        (4, "n > 0"),
        (6, "n > 0"),
        (7, "not n > 0"),
        (8, "n is None"),
        (10, "not n is None"),
        (11, "not n is None"),
        (12, ""),
        (1, ""),
        (17, "not (a or b)"),
        (19, ""),
    ],
)
def test_the_innermost_test_of_the_function_is_named(line: int, condition: str) -> None:
    assert condition_at(TEXT, line) == condition


def test_a_text_that_cannot_be_read_has_none() -> None:
    assert condition_at("if x:\n  y(\n", 2) == ""
