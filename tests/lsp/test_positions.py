"""Columns in characters and in the code units of each encoding."""

from __future__ import annotations

import pytest

pytest.importorskip("lsprotocol")

from lsprotocol.types import Position, Range

from graphdoctor.lsp.positions import Positions, touch

#: An e with an accent takes one unit of UTF-16 and two of UTF-8, the face two and four.
TEXT = "first\né😀x\r\nlast"


@pytest.mark.parametrize(
    ("encoding", "columns"), [("utf-8", (0, 2, 6, 7)), ("utf-16", (0, 1, 3, 4)), ("utf-32", (0, 1, 2, 3))]
)
def test_columns(encoding: str, columns: tuple[int, ...]) -> None:
    positions = Positions(TEXT, encoding)
    assert [positions.position((2, column)) for column in (1, 2, 3, 4)] == [Position(1, c) for c in columns]
    assert positions.position((3, 5)) == Position(2, 4)


def test_a_form_feed_ends_no_line() -> None:
    assert Positions("a\fb\nc").position((1, 4)) == Position(0, 3)


def test_spans_touch_at_their_ends() -> None:
    def span(start: int, end: int) -> Range:
        return Range(Position(0, start), Position(0, end))

    assert touch(span(1, 3), span(3, 3)) and touch(span(0, 9), span(4, 5))
    assert not touch(span(1, 3), span(4, 6))
