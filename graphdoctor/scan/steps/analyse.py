"""Files -> what the static pass finds in them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphdoctor.breaks.run_facts import facts_of
from graphdoctor.scan.cache import Cache
from graphdoctor.scan.followed_packages import marked
from graphdoctor.scan.notebooks import cells_of
from graphdoctor.scan.source_texts import Sources, read_texts
from graphdoctor.scan.static_pass import static_pass
from graphdoctor.scan.steps.libraries import Called, called_libraries

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from graphdoctor.lint.result import StaticResult
    from graphdoctor.model.findings import Finding
    from graphdoctor.model.runs import Break
    from graphdoctor.scan.plan import StaticPlan
    from graphdoctor.scan.session import Session
    from graphdoctor.scan.steps.run import Ran
    from graphdoctor.source.cells import Cells


@dataclass(frozen=True)
class Analysed:
    """``static`` as it was found, and its ``findings`` with those of followed packages marked, and ``called``.

    ``cells`` are those of the notebooks, by shown path, as they were before a fix is written, which moves the lines.
    """

    static: StaticResult
    findings: tuple[Finding, ...]
    sources: Sources
    cells: dict[str, Cells]
    seconds: float
    called: Called


def analyse(plan: StaticPlan, stdin: bytes | None, session: Session) -> Analysed:
    """Analyse the files; those that Ctrl-C left no time for are failed ones. ``stdin`` is the standard input."""
    started = time.monotonic()
    work = plan.work
    count = len(work.files)
    session.progress(f"reading {count} {'file' if count == 1 else 'files'}")
    return _analysed(plan, stdin, session, started)


def analyse_again(
    plan: StaticPlan, stdin: bytes | None, analysed: Analysed, ran: Ran, root: Path, session: Session
) -> Analysed:
    """``analysed`` again where ``ran`` shows what the source does not, such as the result of a library call."""
    breaks = [brk for run in ran.runs or () for brk in run.breaks]
    unread = _unread(plan, breaks, analysed.sources, root)
    sources = analysed.sources.extended(read_texts(unread, plan.work.unsaved))
    beyond = {path for _, path in unread}
    telling = (brk for brk in breaks if brk.owner == "own" or brk.path in beyond)
    facts = facts_of(telling, analysed.findings, sources.texts, sources.files)
    if not facts or session.interrupts.requested:
        return analysed
    work = replace(plan.work, facts=facts)
    again = _analysed(replace(plan, work=work), stdin, session, time.monotonic() - analysed.seconds)
    if not unread:
        return again
    beside = replace(work, files=unread, helper=lambda _file: None, target=None)
    active = plan.rules.loaded.active
    found = static_pass(beside, lambda: active, None, plan.jobs, interrupts=session.interrupts).findings
    broken = {(brk.path, brk.line) for brk in breaks}
    seen = {(f.rule, f.location) for f in again.findings}
    at_breaks = (f for f in found if any((f.location.path, line) in broken for line in _lines(f)))
    new = tuple(f for f in at_breaks if (f.rule, f.location) not in seen)
    return replace(again, findings=(*again.findings, *new), sources=again.sources.extended(sources))


def _unread(plan: StaticPlan, breaks: Iterable[Break], sources: Sources, root: Path) -> tuple[tuple[Path, str], ...]:
    """The user's files that broke and were not read, because nothing in the source shows the way to them.

    What breaks in a library does so at the user's call of it.
    """
    paths = dict.fromkeys(brk.path for brk in breaks if brk.owner != "torch" and brk.path not in sources.texts)
    files = [((root / path).resolve(), path) for path in paths]
    return tuple((file, path) for file, path in files if file.suffix == ".py" and plan.work.helper(file) == path)


def _lines(finding: Finding) -> range:
    return range(finding.location.line, finding.location.end_line + 1)


def _analysed(plan: StaticPlan, stdin: bytes | None, session: Session, started: float) -> Analysed:
    work, count = plan.work, len(plan.work.files)
    static = static_pass(
        work,
        lambda: plan.rules.loaded.active,
        None if plan.cache is None else Cache(plan.cache.folder, plan.cache.key),
        plan.jobs,
        lambda done: session.progress(f"reading {count} files: {done}") if count > 1 else None,
        session.interrupts,
    )
    called = called_libraries(plan.libraries, plan.rules, plan.cache)
    helpers = ((file, path) for path, file in static.helpers.items())
    sources = read_texts((*work.files, *helpers, *called.files), work.unsaved)
    cells = cells_of(sources, stdin)
    findings = (*marked(static.findings, static.helpers, plan.followed), *called.findings)
    return Analysed(static, findings, sources, cells, time.monotonic() - started, called)
