"""Lines for a terminal: styles, wrapping, and cutting to a width in columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from graphdoctor.report.escaping import one_line, width

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
SEVERITY_STYLES = {"error": "red", "warning": "yellow", "info": "blue"}


class Paint:
    """Puts ANSI styles around text, or nothing when colour is off."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, *styles: str) -> str:
        if not self.on or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"


def wrapped(text: str, lead: str, indent: int, columns: int) -> list[str]:
    """``text`` after ``lead``, which shows ``indent`` columns wide; further lines are indented as much."""
    first, *rest = _wrapped(one_line(text), max(columns - indent, 30)) or [""]
    return [lead + first, *(" " * indent + line for line in rest)]


def hanging(text: str, indent: int, columns: int, first: int = 0) -> list[str]:
    """``text`` from column ``first`` on, and from ``indent`` on in the lines after it."""
    return _wrapped(one_line(text), max(columns, indent + 30), " " * first, " " * indent)


def _wrapped(text: str, columns: int, first: str = "", indent: str = "") -> list[str]:
    """The lines of ``text``. A longer word stays whole, so that a path can be opened from the terminal."""
    return textwrap.wrap(
        text,
        columns,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def item(text: str, indent: int, columns: int) -> list[str]:
    """An entry of a list: what does not fit goes on two columns further in."""
    return hanging(text, indent + 2, columns, indent)


def cut(text: str, columns: int) -> str:
    """``text`` if it takes no more than ``columns``, else its beginning with "…"."""
    if width(text) <= columns:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > columns - 1:
            break
        kept += character
    return kept + "…"


def blocks(parts: Iterable[Iterable[str]]) -> str:
    """Groups of lines with an empty line between two of them; empty groups are left out."""
    texts = ["\n".join(lines) for lines in parts]
    return "\n\n".join(text for text in texts if text) + "\n"
