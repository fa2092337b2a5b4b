"""Source files as text: read and decoded as Python does it."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

from graphdoctor.source.errors import SourceError


def read(file: Path) -> tuple[str, str]:
    """The text of ``file`` and its encoding (PEP 263). Raises SourceError with one line for the user."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}") from None
    return decode(data)


def decode(data: bytes) -> tuple[str, str]:
    """The text of a source file's bytes and its encoding (PEP 263). Raises SourceError."""
    if b"\0" in data:
        raise SourceError("contains null bytes, so it is not Python source")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), encoding
    except (SyntaxError, UnicodeError, LookupError) as error:
        reason = str(error).splitlines()[0]
        raise SourceError(f"cannot be decoded: {reason}") from None


def text_of(file: Path) -> str:
    """The text of ``file``; empty when it cannot be read or decoded."""
    try:
        return read(file)[0]
    except SourceError:
        return ""
