"""Applying edits to source text, and choosing fixes whose edits can be applied together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphdoctor.fixes.core.guards import joined
from graphdoctor.model.findings import Edit, Finding, Owner
from graphdoctor.model.labels import may_be_written
from graphdoctor.source.text import LINE_END, line_starts

#: Lines that two fixes may add at one place, in any order: each defines a name of its own.
_DEFINES = re.compile(
    r"\s*(import [\w.]+|torch\._dynamo\.config\.\w+ = |"
    r'@torch\.library\.custom_op\("\w+::\w+|self\.\w+ = |self\.register_buffer\("\w+|_[A-Z0-9_]+ = )'
)


@dataclass(frozen=True)
class _Piece:
    """A part of the edited text: kept from ``line`` on, or put in place of what began in ``line``."""

    text: str
    line: int
    kept: bool


def apply(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with ``edits`` made; an edit given twice is made once. Raises ValueError when edits overlap."""
    return "".join(piece.text for piece in _pieces(text, edits))


def original_lines(text: str, edits: Iterable[Edit]) -> tuple[int, ...]:
    """For each line of the edited text, the line of ``text`` that it comes from.

    A line that an edit made belongs to the line in which the edit begins.
    """
    lines = [1]
    for piece in _pieces(text, edits):
        ends = len(LINE_END.findall(piece.text))
        lines.extend(piece.line + number if piece.kept else piece.line for number in range(1, ends + 1))
    return tuple(lines)


def overlap(first: Edit, second: Edit) -> bool:
    """True when the two edits cannot both be made.

    They touch the same text, insert different text at one place, or each define a name that the other defines too.
    """
    if first.path != second.path or first == second:
        return False
    if first.start == first.end and second.start == second.end:
        names = [_DEFINES.match(edit.text) for edit in (first, second)]
        defined = {found[1] for found in names if found is not None}
        # Two definitions of one name, of which the later would hold for both; imports say the same.
        if None not in names and len(defined) == 1:
            return not first.text.lstrip().startswith("import ")
        return first.start == second.start and None in names
    return first.start < second.end and second.start < first.end


def select_fixes(
    findings: Iterable[Finding], unsafe: bool, owner: Owner | None = "own"
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings whose fixes are written, and those whose fixes were dropped because they overlap an earlier one.

    ``graphdoctor.model.labels.may_be_written`` says which may be, by ``unsafe`` and ``owner``.
    """
    chosen: list[Finding] = []
    dropped: list[Finding] = []
    taken: dict[str, list[Edit]] = {}
    for finding in sorted(findings, key=lambda f: f.location):
        fix = finding.fix
        if fix is None or not fix.edits or not may_be_written(finding, unsafe, owner):
            continue
        edits = taken.setdefault(finding.location.path, [])
        if any(overlap(mine, other) for mine in fix.edits for other in edits):
            dropped.append(finding)
        else:
            chosen.append(finding)
            edits.extend(edit for edit in fix.edits if edit not in edits)
    return tuple(chosen), tuple(dropped)


def fixed_texts(texts: Mapping[str, str], findings: Iterable[Finding]) -> dict[str, str]:
    """The texts (by path) that the fixes of ``findings`` change, as they are afterwards."""
    return {path: apply(texts[path], edits) for path, edits in edits_by_path(findings).items()}


def edits_by_path(findings: Iterable[Finding]) -> dict[str, list[Edit]]:
    """The edits that the fixes of ``findings`` make, by the path of the finding: a fix stays in its file."""
    edits: dict[str, list[Edit]] = {}
    for finding in findings:
        if finding.fix is not None and finding.fix.edits:
            edits.setdefault(finding.location.path, []).extend(finding.fix.edits)
    return edits


def _pieces(text: str, edits: Iterable[Edit]) -> Iterator[_Piece]:
    # Of several lines that are added at one place, the imports come first.
    ordered = sorted(set(edits), key=lambda e: (e.start, e.end, not e.text.lstrip().startswith("import "), e.text))
    starts = line_starts(text)
    done, line = 0, 1
    above: Edit | None = None
    for edit in ordered:
        start, end = _offset(starts, edit.start), _offset(starts, edit.end)
        if start < done:
            raise ValueError(f"edits overlap at {edit.path}:{edit.start[0]}")
        yield _Piece(text[done:start], line, kept=True)
        yield _Piece(joined(above, text[done:start], edit), edit.start[0], kept=False)
        done, line, above = end, edit.end[0], edit
    yield _Piece(text[done:], line, kept=True)


def _offset(starts: Sequence[int], place: tuple[int, int]) -> int:
    return starts[place[0] - 1] + place[1] - 1
