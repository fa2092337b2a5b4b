"""Places in a text: 1-based lines and columns in characters here, 0-based and in code units in the protocol."""

from __future__ import annotations

from lsprotocol.types import Position, PositionEncodingKind, Range

from graphdoctor.source.text import split_lines

Place = tuple[int, int]

#: Of each encoding that can be negotiated: the codec, and the bytes of one unit.
_UNITS = {
    PositionEncodingKind.Utf8: ("utf-8", 1),
    PositionEncodingKind.Utf16: ("utf-16-le", 2),
    PositionEncodingKind.Utf32: ("utf-32-le", 4),
}


class Positions:
    """Converts places of one text for a client with which ``encoding`` was negotiated."""

    def __init__(self, text: str, encoding: PositionEncodingKind | str = PositionEncodingKind.Utf16) -> None:
        self._lines = split_lines(text)
        self._codec, self._size = _UNITS[PositionEncodingKind(encoding)]

    def position(self, place: Place) -> Position:
        """Where ``place`` is for the client."""
        line, column = place
        before = self._lines[line - 1][: column - 1]
        return Position(line - 1, len(before.encode(self._codec, "surrogatepass")) // self._size)

    def range(self, start: Place, end: Place) -> Range:
        """The span from ``start`` to ``end`` for the client."""
        return Range(self.position(start), self.position(end))


def touch(first: Range, second: Range) -> bool:
    """True when the two spans have a position in common, their ends included."""
    return first.start <= second.end and second.start <= first.end
