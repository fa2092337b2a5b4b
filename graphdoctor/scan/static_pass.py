"""The static pass of a scan: what is known from an earlier scan is recalled, the rest is analysed by processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.interrupt import Interrupts, can_fork, leave_signals
from graphdoctor.lint.result import FileResult, StaticResult, merged
from graphdoctor.lint.work import File, Work
from graphdoctor.model.findings import ScannedFile

if TYPE_CHECKING:
    from graphdoctor.lint.engine import Analysis
    from graphdoctor.scan.cache import Cache
    from graphdoctor.static.rule import Rule

#: Text for which another process is worth its start: about five seconds of analysis.
_BYTES_A_PROCESS = 500_000
#: After more files than these, imported modules are freed before the report is made.
_MANY = 100


def static_pass(
    work: Work,
    rules: Callable[[], tuple[Rule, ...]],
    cache: Cache | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] = lambda _done: None,
    interrupts: Interrupts | None = None,
) -> StaticResult:
    """The findings in the files; they do not depend on the number of processes.

    ``rules`` are loaded only when a file must be analysed. ``jobs`` is the largest number of processes; by default as
    many as there are processors, where there is that much to do. ``progress`` gets the number of files that are done.
    Files that ``interrupts`` left no time for are failed ones.
    """
    path_of = work.path_of()
    known: dict[File, FileResult] = {}
    # Texts that are not on disk are not what an entry is about, and installed packages change without their files.
    if cache is not None and not (work.unsaved or work.followed or work.facts):
        for one in work.files:
            found = cache.recall(work.resolved[one[0]], one[1], path_of)
            if found is not None:
                known[one] = found
    else:
        cache = None
    missing = [one for one in work.files if one not in known]

    def analyse() -> None:
        for one, result in _analysed(work, missing, active, jobs):
            if cache is not None:
                cache.keep(work.resolved[one[0]], one[1], result, path_of)
            # Hundreds of names a file, which only the cache needs.
            known[one] = replace(result, looked_at=frozenset())
            progress(len(known))
        if cache is not None:
            cache.prune()

    if missing:
        active = rules()
        (interrupts or Interrupts()).attempt(analyse)
        for one in missing:
            known.setdefault(one, FileResult(ScannedFile(one[1], 0, "failed", "was not read: interrupted")))
    return merged(known[one] for one in work.files)


def _analysed(
    work: Work, missing: Sequence[File], rules: tuple[Rule, ...], jobs: int | None
) -> Iterator[tuple[File, FileResult]]:
    # Imports that a scan of what stayed as it was does without.
    from graphdoctor.lint.engine import Analysis

    analysis = Analysis(work, rules)
    sizes = {one: _size(one[0]) for one in missing}
    # The large ones first, so that no process is left with one at the end.
    ordered = sorted(missing, key=lambda one: -sizes[one])
    wanted = min(jobs or os.cpu_count() or 1, len(missing))
    if jobs is None:
        wanted = min(wanted, 1 + sum(sizes.values()) // _BYTES_A_PROCESS)
    if wanted < 2 or not can_fork():
        for one in missing:
            yield one, analysis.file(*one)
        if len(missing) > _MANY:
            # What was read of so many files is a third of what a scan may take.
            analysis.close()
        return
    import multiprocessing

    global _analysis
    _analysis = analysis
    try:
        with multiprocessing.get_context("fork").Pool(wanted, leave_signals) as pool:
            yield from pool.imap_unordered(_one, ordered)
    finally:
        _analysis = None


#: What the processes of a pool analyse with: rules and projects are not pickled, but forked.
_analysis: Analysis | None = None


def _one(one: File) -> tuple[File, FileResult]:
    assert _analysis is not None
    return one, _analysis.file(*one)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
