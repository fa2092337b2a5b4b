"""Comments that silence findings."""

from __future__ import annotations

import pytest

from graphdoctor.source.suppressions import is_suppressed, matches, suppressions


def codes_at(text: str, line: int) -> set[str]:
    return {code for suppression in suppressions(text) if suppression.covers(line) for code in suppression.codes}


@pytest.mark.parametrize(
    "comment, codes",
    [
        ("# noqa: GD101", {"GD101"}),
        ("# noqa: GD101 because it is a demo", {"GD101"}),
        ("# noqa:GD101,F401 # more", {"GD101", "F401"}),
        ("# noqa: GD101, GD2 - because", {"GD101", "GD2"}),
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
        ("# graphdoctor: ignore-file[GD1]", set()),
        ("# graphdoctor: ignore-files[GD1]", set()),
    ],
)
def test_comments(comment: str, codes: set[str]) -> None:
    assert codes_at(f"x = 1  {comment}\n", 1) == codes


def test_any_line_of_a_statement_holds_for_all() -> None:
    text = "a = 1\nb = [\n    1,  # noqa: GD101\n    2,\n]\nc = 3\n"
    assert [line for line in range(1, 7) if codes_at(text, line)] == [2, 3, 4, 5]
    alone = "b = [\n    # noqa: GD101\n    1,\n    2,\n]\nc = 3\n"
    assert [line for line in range(1, 7) if codes_at(alone, line)] == [1, 2, 3, 4, 5]
    string = 'a = """\n\n"""  # noqa: GD101\nif (a and\n    a):  # noqa: GD201\n    pass\n'
    assert [line for line in range(1, 7) if codes_at(string, line)] == [1, 2, 3, 4, 5]


def test_a_comment_of_its_own_holds_for_no_line() -> None:
    text = "# noqa: GD101\nprint(1)\n    # noqa\nx = 1\n"
    assert [line for line in range(1, 5) if codes_at(text, line)] == []
    assert [(s.line, s.last) for s in suppressions(text)] == [(1, 0), (3, 0)]


def test_a_file_comment_holds_for_every_line_and_stands_alone() -> None:
    text = "x = 1\n# graphdoctor: ignore-file[GD1, clock] old code\ny = 2\n"
    assert codes_at(text, 1) == codes_at(text, 99) == {"GD1", "clock"}
    assert codes_at("# graphdoctor: ignore-file\n", 5) == {"*"}


def test_where_the_comment_stands() -> None:
    (found,) = suppressions("x = 1  # why # noqa: GD101\n")
    assert (found.line, found.column, found.end_column) == (1, 14, 27)


def test_strings_are_no_comments_and_broken_code_is_no_error() -> None:
    assert suppressions('x = "# noqa"\n') == ()
    assert codes_at("x = 1  # noqa\ny = (\n", 1) == {"*"}
    assert suppressions("x = 1\n") == ()


def test_is_suppressed_by_code_prefix_or_name() -> None:
    silenced = suppressions("a\nb\nc  # noqa: GD1\nd  # graphdoctor: ignore[print-in-graph]\ne  # noqa\n")
    lines = [is_suppressed("GD101", "print-in-graph", line, silenced) for line in (2, 3, 4, 5)]
    assert lines == [False, True, True, True]
    assert not is_suppressed("GD201", "tensor-condition", 3, silenced)
    assert matches("GD101", "print-in-graph", "gd101") and not matches("GD101", "print-in-graph", "GD1011")
    assert matches("GD101", "print-in-graph", "ALL")
