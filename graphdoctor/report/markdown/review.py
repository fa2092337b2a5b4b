"""Review comments for a pull request on GitHub: the body of ``POST /repos/OWNER/REPO/pulls/NUMBER/reviews``.

A fix whose change is one piece of one file is a suggestion block, which the author takes over with a click.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from graphdoctor.diagnosis.compare import new_findings
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import is_offered
from graphdoctor.report import wording
from graphdoctor.report.escaping import one_line, printable, visible
from graphdoctor.report.excerpt import called_from
from graphdoctor.report.gfm import escape, fence, prose
from graphdoctor.report.problems import problems
from graphdoctor.report.repository import from_repository, is_absolute

#: A longer review is noise; the other findings are in the comment.
LIMIT = 30

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


@dataclass(frozen=True)
class Suggestion:
    """Lines ``first`` to ``last`` of a file, and what shall stand there."""

    first: int
    last: int
    text: str


def render(diagnosis: Diagnosis) -> str:
    """One comment for each finding that is new, or for each where nothing was compared; at most ``LIMIT``."""
    raw = from_repository(diagnosis)
    chosen = new_findings(raw) if raw.comparison else raw.findings
    found = [f for f in chosen if f.status != "refuted" and not f.allowed and not is_absolute(f.location.path)]
    shown = printable(replace(raw, findings=tuple(found[:LIMIT])))
    body = f"graphdoctor: {escape(shown.summary.headline)}"
    body += "".join(f"\n\n{escape(text)}" for text in _problems(printable(raw)))
    if len(found) > LIMIT:
        body += f"\n\n{LIMIT} of {len(found)} findings are shown."
    comments = [_comment(finding, text) for finding, text in zip(found[:LIMIT], shown.findings, strict=True)]
    return json.dumps({"event": "COMMENT", "body": body, "comments": comments}, indent=2) + "\n"


def _problems(shown: Diagnosis) -> Iterator[str]:
    """Problems that the headline does not name."""
    found = problems(shown)
    for problem in found[:LIMIT]:
        text = one_line(f"{problem.title}: {problem.path + ': ' if problem.path else ''}{problem.text}")
        yield text[0].upper() + text[1:]
    if len(found) > LIMIT:
        yield f"{len(found) - LIMIT} more of these are not shown."


def suggestion(finding: Finding) -> Suggestion | None:
    """The fix of ``finding`` as one piece of its file; None where it has none or changes more places.

    Text that looks different from what it is (bidirectional or control characters) is never suggested.
    """
    fix = finding.fix
    if fix is None or not is_offered(finding) or visible(fix.diff) != fix.diff:
        return None
    lines = fix.diff.splitlines()
    hunks = [number for number, line in enumerate(lines) if _HUNK.match(line)]
    if len(hunks) != 1 or {edit.path for edit in fix.edits} != {finding.location.path}:
        return None
    start = _HUNK.match(lines[hunks[0]])
    changes = [line for line in lines[hunks[0] + 1 :] if line[:1] in (" ", "-", "+") or not line]
    return _piece(changes, int(start[1])) if start else None


def _piece(changes: list[str], number: int) -> Suggestion | None:
    """What lies between the first and the last change of a hunk that begins at line ``number``."""
    changed = [place for place, line in enumerate(changes) if line[:1] in ("-", "+")]
    first, last = changed[0], changed[-1]
    before = number + sum(line[:1] != "+" for line in changes[:first])
    piece = changes[first : last + 1]
    removed = sum(line[:1] != "+" for line in piece)
    if not removed:
        # Nothing but new lines: a suggestion replaces at least one, so the line above stays in it.
        if first == 0:
            return None
        return Suggestion(before - 1, before - 1, "\n".join(line[1:] for line in changes[first - 1 : last + 1]))
    return Suggestion(before, before + removed - 1, "\n".join(line[1:] for line in piece if line[:1] != "-"))


def _comment(finding: Finding, shown: Finding) -> dict[str, Any]:
    """``shown`` is ``finding`` with every text visible; places and code come from ``finding``."""
    parts = [f"**{escape(shown.rule)} {escape(shown.name)}** {prose(shown.message)}"]
    if calls := called_from(shown):
        parts.append(f"Called from {prose(calls)}.")
    if shown.suggestion:
        parts.append(prose(shown.suggestion, 1000))
    piece = suggestion(finding)
    line = finding.location.line
    first, last = (piece.first, piece.last) if piece else (line, line)
    if piece is not None and finding.fix is not None:
        parts.append(f"Fix ({escape(wording.fix_kind(finding.fix))}):\n\n{fence(piece.text, 'suggestion')}")
    comment = {"path": finding.location.path, "line": last, "side": "RIGHT", "body": "\n\n".join(parts)}
    return {**comment, "start_line": first, "start_side": "RIGHT"} if first < last else comment
