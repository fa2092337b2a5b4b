"""Fixes -> the files that the scan may change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.model.findings import Finding
from graphdoctor.model.labels import may_be_written
from graphdoctor.scan import notebooks
from graphdoctor.scan.source_texts import Sources
from graphdoctor.source.errors import SourceError

if TYPE_CHECKING:
    from graphdoctor.scan.plan import WritePlan
    from graphdoctor.scan.session import Callbacks


@dataclass(frozen=True)
class Written:
    """The findings, with those marked whose fixes were written, and a note for each file."""

    findings: Sequence[Finding]
    notes: Sequence[str] = ()

    @property
    def count(self) -> int:
        """How many fixes were written."""
        return sum(finding.fix is not None and finding.fix.written for finding in self.findings)


def write(plan: WritePlan | None, findings: Sequence[Finding], sources: Sources, callbacks: Callbacks) -> Written:
    """Write the fixes, file by file: those that may be written, or those of them that the caller chooses."""
    if plan is None:
        return Written(findings)
    # A scan that writes nothing does without these imports.
    from graphdoctor.fixes.core import write as files
    from graphdoctor.fixes.core.apply import fixed_texts, select_fixes

    if callbacks.interrupts.requested:
        return Written(findings, ("fixed: nothing; interrupted",))
    chosen, overlapping = select_fixes(findings, plan.unsafe)
    if callbacks.choose is not None:
        # Ctrl-C instead of an answer chooses nothing.
        asked = notebooks.placed(tuple(chosen), sources.cells())
        answer = callbacks.interrupts.attempt(partial(callbacks.choose, asked))
        chosen, overlapping = tuple(chosen[asked.index(finding)] for finding in answer or ()), ()
    notes = []
    written: list[Finding] = []
    for path, text in fixed_texts(sources.texts, chosen).items():
        count = sum(f.location.path == path for f in chosen)
        try:
            files.write(sources.files[path], sources.texts[path], text, plan.places)
            written += (f for f in chosen if f.location.path == path)
            notes.append(f"fixed: {path} ({count} {'fix' if count == 1 else 'fixes'} written)")
        except SourceError as error:
            notes.append(f"not fixed: {path} {error}")
    places = (f"{f.rule} at {f.location.path}:{f.location.line}" for f in overlapping)
    notes.extend(f"not written: the fix of {place}, for another one changes the same code" for place in places)
    marked = [replace(f, fix=replace(f.fix, written=True)) if f.fix and f in written else f for f in findings]
    return Written(marked, notes or (f"fixed: nothing; {_why_nothing(findings, plan.unsafe)}",))


def _why_nothing(findings: Sequence[Finding], unsafe: bool) -> str:
    if any(may_be_written(finding, unsafe) for finding in findings):
        return "no fix was chosen"
    if any(may_be_written(finding, unsafe=True) for finding in findings):
        return "each fix that there is may change behaviour, and is written with --unsafe-fixes"
    return "there is no fix to write"


def writable(paths: Sequence[str], scanned: Sequence[Path]) -> tuple[Path, ...]:
    """What fixes may be written to: the given ``paths``, and the project of a file that is scanned alone.

    The helpers of such a file are fixed with it.
    """
    from graphdoctor.fixes.core.write import places, project_of

    named = places(paths)
    if len(scanned) != 1:
        return named
    alone = Path(os.path.realpath(scanned[0]))
    return (*named, project_of(alone)) if any(map(alone.is_relative_to, named)) else named
