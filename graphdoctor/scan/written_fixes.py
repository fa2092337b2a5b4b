"""Writes the fixes of a scan to the files that it may change."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.fixes.core.write import places, project_of, write
from graphdoctor.model.findings import Finding
from graphdoctor.scan.source_texts import Sources
from graphdoctor.source.errors import SourceError


def writable(paths: Sequence[str], files: Sequence[Path]) -> tuple[Path, ...]:
    """What fixes may be written to: the given ``paths``, and the project of a file that is scanned alone.

    The helpers of such a file are fixed with it.
    """
    given = places(paths)
    if len(files) != 1:
        return given
    alone = Path(os.path.realpath(files[0]))
    return (*given, project_of(alone)) if any(map(alone.is_relative_to, given)) else given


def write_chosen(
    findings: Sequence[Finding],
    sources: Sources,
    allowed: Sequence[Path],
    unsafe: bool,
    choose: Callable[[Sequence[Finding]], Sequence[Finding]] | None,
) -> tuple[tuple[Finding, ...], list[str]]:
    """Write the fixes, file by file: ``findings`` with those marked that were written, and one note for each file.

    ``choose`` gets the findings whose fixes would be written, and gives those that are.
    """
    chosen, overlapping = select_fixes(findings, unsafe)
    if choose is not None:
        chosen, overlapping = tuple(choose(chosen)), ()
    notes = []
    written: list[Finding] = []
    for path, text in fixed_texts(sources.texts, chosen).items():
        count = sum(f.location.path == path for f in chosen)
        try:
            write(sources.files[path], sources.texts[path], text, allowed)
            written += (f for f in chosen if f.location.path == path)
            notes.append(f"fixed: {path} ({count} {'fix' if count == 1 else 'fixes'} written)")
        except SourceError as error:
            notes.append(f"not fixed: {path} {error}")
    notes.extend(f"not fixed: {f.location.path}:{f.location.line} {f.rule} overlaps another fix" for f in overlapping)
    marked = (replace(f, fix=replace(f.fix, written=True)) if f.fix and f in written else f for f in findings)
    return tuple(marked), notes or ["fixed: nothing; there is no fix to write"]
