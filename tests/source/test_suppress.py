"""Comments that silence findings."""

from __future__ import annotations

import pytest

from graphdoctor.source.suppress import is_suppressed, matches, suppressions


@pytest.mark.parametrize(
    "comment, codes",
    [
        ("# noqa: GD101", {"GD101"}),
        ("# noqa:GD101,F401 # more", {"GD101", "F401"}),
        ("# NOQA : GD101", {"GD101"}),
        ("# noqa", {"*"}),
        ("# noqa  because", {"*"}),
        ("# graphdoctor: ignore[GD101] it is a test", {"GD101"}),
        ("# graphdoctor: ignore[GD101, print-in-graph]", {"GD101", "print-in-graph"}),
        ("# graphdoctor: ignore", {"*"}),
        ("# type: ignore # noqa: GD2", {"GD2"}),
        ("# noqa: because", set()),
        ("# noqaish: GD101", set()),
        ("# graphdoctor: ignored", set()),
        ("# graphdoctor: ignore[]", set()),
    ],
)
def test_comments(comment: str, codes: set[str]) -> None:
    assert suppressions(f"x = 1  {comment}\n").get(1, frozenset()) == codes


def test_any_line_of_a_statement_holds_for_all() -> None:
    text = "a = 1\nb = [\n    1,  # noqa: GD101\n    2,\n]\nc = 3\n"
    assert suppressions(text) == dict.fromkeys((2, 3, 4, 5), frozenset({"GD101"}))


def test_a_comment_of_its_own_does_not_reach_the_next_line() -> None:
    assert set(suppressions("# noqa: GD101\nprint(1)\n    # noqa\nx = 1\n")) == {1, 3}


def test_strings_are_no_comments_and_broken_code_is_no_error() -> None:
    assert suppressions('x = "# noqa"\n') == {}
    assert suppressions("x = 1  # noqa\ny = (\n") == {1: frozenset({"*"})}
    assert suppressions("x = 1\n") == {}


def test_is_suppressed_by_code_prefix_or_name() -> None:
    silenced = {3: frozenset({"GD1"}), 4: frozenset({"print-in-graph"}), 5: frozenset({"*"})}
    assert [is_suppressed("GD101", "print-in-graph", line, silenced) for line in (2, 3, 4, 5)] == [
        False,
        True,
        True,
        True,
    ]
    assert not is_suppressed("GD201", "tensor-condition", 3, silenced)
    assert matches("GD101", "print-in-graph", "gd101") and not matches("GD101", "print-in-graph", "GD1011")
