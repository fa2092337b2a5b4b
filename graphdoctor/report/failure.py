"""The exception that ended a run: what failed, at which line, and how to scan again."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from graphdoctor.breaks.explanations import remedy_of_error
from graphdoctor.breaks.missing_packages import remedy_of_missing
from graphdoctor.model.findings import Diagnosis, Location
from graphdoctor.model.runs import Frame
from graphdoctor.report.escaping import one_line
from graphdoctor.report.excerpt import SourceLine, lines_of
from graphdoctor.report.proof import again
from graphdoctor.source.text import split_lines

#: Lines before and after the one that failed.
_CONTEXT = 2

#: Where nothing more is known of an error.
_CORRECT = "correct it"


@dataclass(frozen=True)
class Failure:
    """``text`` is the exception with its message, ``place`` the path and line, ``lines`` the source around it.

    ``values`` are the tensors and layers on that line.
    """

    text: str
    path: str
    line: int
    function: str
    lines: tuple[SourceLine, ...]
    command: str
    values: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """``model.py:17``."""
        return f"{self.path}:{self.line}"

    @property
    def has_remedy(self) -> bool:
        """Whether more is known of what to do than that the error has to be corrected."""
        return self.remedy != _CORRECT

    @property
    def remedy(self) -> str:
        """What to do before the next scan."""
        return remedy_of_missing(self.text) or remedy_of_error(self.text) or _CORRECT


def failure(diagnosis: Diagnosis) -> Failure | None:
    """The first exception at a known line; None where every run came to its end, or ended in another way."""
    run = next((run for run in diagnosis.dynamic or () if run.raised_at is not None), None)
    if run is None or run.raised_at is None:
        return None
    at = run.raised_at
    where = f"{at.path}:{at.line}" + (f" in {at.function}" if at.function else "")
    text = one_line(run.detail.removesuffix(f" ({where})"))
    return Failure(text, at.path, at.line, at.function, _lines(diagnosis, at), again(diagnosis), run.raised_with)


def _lines(diagnosis: Diagnosis, at: Frame) -> tuple[SourceLine, ...]:
    """The source around the line, without common indentation; nothing where the text is not known."""
    source = split_lines(diagnosis.texts.get(at.path, ""))
    first = max(at.line - _CONTEXT, 1)
    snippet = source[first - 1 : at.line + _CONTEXT]
    while snippet and not snippet[-1].strip():
        snippet.pop()
    if at.line >= first + len(snippet):
        return ()
    # A narrow screen has no room for indentation.
    snippet = split_lines(dedent("\n".join(snippet)))
    return lines_of(snippet, first, Location(at.path, at.line, 1, at.line, len(snippet[at.line - first]) + 1))
