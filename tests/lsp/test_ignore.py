"""The edit of a quick fix silences what it names: checked with the reader of such comments."""

from __future__ import annotations

import pytest

from graphdoctor.fixes.core.apply import apply
from graphdoctor.lsp.ignore import silence
from graphdoctor.source.suppressions import is_suppressed, suppressions


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("print(x)\n", 1, "print(x)  # noqa: GD101\n"),
        ("print(x)", 1, "print(x)  # noqa: GD101"),
        ("print(x)  # why\n", 1, "print(x)  # why  # noqa: GD101\n"),
        ("print(x)  # noqa: E501\n", 1, "print(x)  # noqa: E501, GD101\n"),
        ("print(x)  # noqa: nothing\n", 1, "print(x)  # noqa: nothing  # graphdoctor: ignore[GD101]\n"),
        ("print(\n    x,  # one\n)\ny = 1\n", 2, "print(\n    x,  # one\n)  # noqa: GD101\ny = 1\n"),
        ('print("""a\n\nb""")\r\n', 2, 'print("""a\n\nb""")  # noqa: GD101\r\n'),
        ("if (a and\n        b):\n    c\n", 1, "if (a and\n        b):  # noqa: GD101\n    c\n"),
        ("a = 1 + \\\n    b\n", 1, "a = 1 + \\\n    b  # noqa: GD101\n"),
    ],
)
def test_the_comment_goes_to_the_end_of_the_statement(text: str, line: int, after: str) -> None:
    edit = silence("m.py", text, line, "GD101")
    assert edit is not None
    changed = apply(text, [edit])
    assert changed == after
    assert is_suppressed("GD101", "print-in-graph", line, suppressions(changed))


def test_where_there_is_no_statement_there_is_no_edit() -> None:
    assert silence("m.py", "\n# a comment\n", 2, "GD101") is None
    assert silence("m.py", "print((x)\n", 1, "GD101") is None
