"""A file that ``graphdoctor init`` would write, or why it leaves one alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphdoctor.fixes.core.diff import unified
from graphdoctor.source.files import read_bytes


class InitError(Exception):
    """A file that cannot be read or written; the text is one line for the user."""


@dataclass(frozen=True)
class Change:
    """One file: its text now, None where there is none, and as it would be."""

    folder: Path
    path: str
    before: str | None
    after: str

    @property
    def file(self) -> Path:
        """Where it is."""
        return self.folder / self.path

    @property
    def diff(self) -> str:
        """What would change, as a unified diff."""
        return unified(self.path, self.before or "", self.after)


@dataclass(frozen=True)
class Kept:
    """Why a part stays as it is, in one line; ``paste`` is what the user may put there by hand."""

    reason: str
    paste: str = ""


Step = Change | Kept


def read(file: Path) -> str | None:
    """The text of ``file`` with its own line ends; None where there is no such file. Raises InitError."""
    try:
        return read_bytes(file).decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InitError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InitError(f"{file} cannot be read: it is not UTF-8") from None


def appended(text: str, addition: str) -> str:
    """``addition`` below ``text``, a blank line between them, with the line ends of ``text``."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    gap = newline if text.strip() else ""
    return text + gap + addition.replace("\n", newline)
