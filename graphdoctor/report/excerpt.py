"""What reports show around a finding: its source lines, with the marked part apart, and the calls that lead there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphdoctor.breaks.locations import without_site
from graphdoctor.report.escaping import visible

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding, Location

#: Longer lines are shown as a window of this many characters around the mark.
WINDOW = 160


@dataclass(frozen=True)
class SourceLine:
    """One line of source, escaped for showing; ``marked`` is empty on lines of context, and where only the beginning of
    the place is known. ``hit`` says whether the line is part of the place."""

    number: int
    before: str
    marked: str
    after: str
    hit: bool

    @property
    def text(self) -> str:
        """The whole line."""
        return self.before + self.marked + self.after


def source_lines(finding: Finding) -> tuple[SourceLine, ...]:
    """The snippet of ``finding``, which may be empty."""
    return lines_of(finding.snippet, finding.snippet_start, finding.location)


def lines_of(snippet: Sequence[str], first: int, marked: Location) -> tuple[SourceLine, ...]:
    """The lines of ``snippet``, which begins at line ``first``, with what lies in ``marked`` apart."""
    return tuple(_source_line(text, first + i, marked) for i, text in enumerate(snippet))


def marked_line(finding: Finding) -> SourceLine | None:
    """The line in which ``finding`` starts, or None where the snippet does not hold it."""
    return next((line for line in source_lines(finding) if line.number == finding.location.line), None)


def _source_line(text: str, number: int, place: Location) -> SourceLine:
    start, end = _span(text, number, place)
    before, marked, after = text[:start], text[start:end], text[end:]
    if len(text) > WINDOW:
        before, marked, after = _window(before, marked, after)
    hit = place.line <= number <= place.end_line
    return SourceLine(number, _shown(before), _shown(marked), _shown(after), hit)


def _span(text: str, number: int, place: Location) -> tuple[int, int]:
    """The 0-based part of line ``number`` that lies within ``place``; empty outside."""
    if not place.line <= number <= place.end_line:
        return len(text), len(text)
    indent = len(text) - len(text.lstrip())
    start = max(place.column - 1, indent) if number == place.line else indent
    end = place.end_column - 1 if number == place.end_line else len(text.rstrip())
    start = min(max(start, 0), len(text))
    return start, min(max(end, start), len(text))


def _window(before: str, marked: str, after: str) -> tuple[str, str, str]:
    """Cut the three parts to about ``WINDOW`` characters, keeping the beginning of the mark; cuts are shown as "…"."""
    if not marked:
        return _head(before, WINDOW), "", _head(after, WINDOW - len(before)) if len(before) < WINDOW else ""
    lead = before if len(before) <= WINDOW // 3 else "…" + before[-WINDOW // 3 :]
    middle = _head(marked, WINDOW // 2)
    return lead, middle, _head(after, max(WINDOW - len(lead) - len(middle), 0))


def _head(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def _shown(text: str) -> str:
    return visible(text.replace("\t", "    "))


#: Of more calls than this, the first two and the last are named.
_MOST_CALLS = 4


def called_from(finding: Finding, always: bool = False) -> str:
    """How compiled code comes to the function of ``finding``, the nearest call first; empty where nothing calls it.

    Unless ``always``, also where one module calls another in one file, which the code around the line shows.
    """
    calls = finding.called_from
    in_file = all(call.path == finding.location.path for call in calls)
    if not calls or (in_file and finding.function.endswith(".forward") and not always):
        return ""
    shown = [f"`{call.function}` ({without_site(call.path)}:{call.line})" for call in reversed(calls)]
    if len(shown) > _MOST_CALLS:
        shown[2:-1] = [f"{len(shown) - 3} more calls"]
    return ", from ".join(shown)
