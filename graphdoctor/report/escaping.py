"""Text from scanned code and from messages, made safe to show.

Reports show strings that are not trusted: source lines, exception texts, file names. ``printable`` is the one place
where characters that would steer a terminal, reorder a line or not encode are turned into visible escapes; renderers
work on its result and then escape for their own format only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.source.text import split_lines

#: A report shows at most this many characters of one line; the JSON has all of them.
LINE_LIMIT = 1000
#: Characters more than that which are shown all the same: to say how many are left out takes as many.
_NOT_WORTH_IT = 40

#: C0 and C1 controls but newline and tab, zero-width and bidirectional controls, byte order mark, surrogates, tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)

T = TypeVar("T")


def visible(text: str) -> str:
    """``text`` with control characters as escapes (``\\x1b``, ``\\u202e``); newlines and tabs stay."""
    return _HIDDEN.sub(lambda match: _escape(ord(match[0])), text)


def one_line(text: str) -> str:
    """``text`` with each run of whitespace as one space."""
    return " ".join(text.split())


def width(text: str) -> int:
    """How many terminal columns ``text`` takes: East Asian wide characters take two, combining marks none."""
    return sum(_columns(character) for character in text)


def printable(diagnosis: Diagnosis) -> Diagnosis:
    """A copy of ``diagnosis`` in which every string may be shown.

    Snippets stay as they are, because columns count in the raw line; ``excerpt.source_lines`` escapes them. A carriage
    return that ends a line of source is no hidden character: every line of a file from Windows has one.
    """
    texts = {path: "\n".join(split_lines(text)) for path, text in diagnosis.texts.items()}
    return _printable(replace(diagnosis, texts=texts))


def _printable(value: T) -> T:
    shown: Any = value
    if isinstance(value, str):
        shown = "\n".join(_shorten(line) for line in visible(value).split("\n"))
    elif isinstance(value, tuple):
        shown = tuple(_printable(item) for item in value)
    elif isinstance(value, Mapping):
        shown = {_printable(key): _printable(item) for key, item in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        raw = ("snippet",) if isinstance(value, Finding) else ()
        shown = replace(value, **{name: _printable(getattr(value, name)) for name in names if name not in raw})
    return shown  # type: ignore[no-any-return]


def _shorten(line: str) -> str:
    if len(line) <= LINE_LIMIT + _NOT_WORTH_IT:
        return line
    return f"{line[:LINE_LIMIT]}… ({len(line) - LINE_LIMIT} more characters)"


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
