"""One scan: the steps of a plan in order. Files are written only where the plan has a part for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

import graphdoctor
from graphdoctor.breaks.measured_costs import reason_once
from graphdoctor.config.allow_list import expired, with_allowed
from graphdoctor.diagnosis.exports import with_rules
from graphdoctor.diagnosis.own_calls import with_own_calls
from graphdoctor.diagnosis.rank import rank
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.lint.result import StaticResult, key_of
from graphdoctor.model.findings import Diagnosis, Finding, Region
from graphdoctor.model.labels import needs_unsafe
from graphdoctor.scan import notebooks
from graphdoctor.scan.filtering import kept, nothing_checked
from graphdoctor.scan.patches import diff
from graphdoctor.scan.plan import Plan
from graphdoctor.scan.session import Callbacks, Session, started
from graphdoctor.scan.source_texts import with_snippet
from graphdoctor.scan.steps.analyse import Analysed, analyse, analyse_again
from graphdoctor.scan.steps.compose import with_composed
from graphdoctor.scan.steps.join import Joined, join
from graphdoctor.scan.steps.run import Advised, Ran, advise, complete, external, run
from graphdoctor.scan.steps.verify import Verified, verify
from graphdoctor.scan.steps.write import write
from graphdoctor.source.code_host import code_url
from graphdoctor.target_torch.tested import beside_tested

if TYPE_CHECKING:
    from graphdoctor.model.runs import DynamicRun


@dataclass(frozen=True)
class Results:
    """What the steps gave. ``ran`` and ``completed`` are the same runs before and after the verdict."""

    analysed: Analysed
    ran: Ran
    joined: Joined
    verified: Verified
    completed: Ran
    advised: Advised


def diagnose(plan: Plan, callbacks: Callbacks | None = None) -> Diagnosis:
    """The diagnosis that ``plan`` leads to.

    Whatever the scanned code does, the static findings are complete. Where Ctrl-C ends what is under way, the diagnosis
    has what is known by then. Raises UsageError where a run was requested and is impossible.
    """
    with ExitStack() as cleanup:
        session = started(plan, callbacks or Callbacks(), cleanup)
        analysed = analyse(plan.static, plan.inputs.stdin, session)
        ran = _run(plan, analysed, session)
        analysed = analyse_again(plan.static, plan.inputs.stdin, analysed, ran, plan.inputs.root, session)
        joined = join(plan.static, plan.selection, analysed, ran)
        verified = with_composed(plan, joined, ran, session, verify(plan.verify, joined, ran, session))
        completed = complete(plan.run, ran, session)
        if completed.runs != ran.runs and any(run.varied_breaks for run in completed.runs or ()):
            joined = join(plan.static, plan.selection, analysed, completed)
            verified = verified.joined_again(joined)
        advised = advise(plan.run, completed, session)
        diagnosis = _diagnosis(plan, Results(analysed, ran, joined, verified, completed, advised), session)
        return _compared(plan, diagnosis, analysed, joined, session)


def _run(plan: Plan, analysed: Analysed, session: Session) -> Ran:
    if session.callbacks.external_runs is not None:
        return external(session.callbacks.external_runs, analysed, plan.inputs.root)
    early = partial(_tell_early, plan, analysed, session)
    has_fixes = plan.static.followed.fixes or any(finding.fix is not None for finding in analysed.findings)
    decided = partial(_tell_verdict, analysed, session)
    return run(plan.run, analysed, early, decided, plan.verify is not None and has_fixes, session)


def _tell_early(plan: Plan, analysed: Analysed, session: Session) -> None:
    found = rank(kept(analysed.findings, plan.selection, analysed.sources.texts))
    session.callbacks.early(notebooks.placed(tuple(found), analysed.cells))


def _tell_verdict(analysed: Analysed, session: Session, runs: Sequence[DynamicRun], seconds: float) -> None:
    summary = summarise(analysed.static.files, analysed.findings, runs)
    session.callbacks.decided(summary, notebooks.placed(tuple(runs), analysed.cells), seconds)


def _diagnosis(plan: Plan, results: Results, session: Session) -> Diagnosis:
    """Write the fixes, rank the findings, and put all results together."""
    analysed, sources = results.analysed, results.joined.sources
    written = write(plan.write, results.verified.findings, sources, session.callbacks)
    ranked = _ranked(plan, (with_snippet(finding, sources) for finding in written.findings))
    runs = results.completed.runs
    if runs:
        runs = with_own_calls(with_rules(runs, ranked), ranked, sources.texts)
    diagnosis = Diagnosis(
        tool_version=graphdoctor.__version__,
        environment=results.completed.environment,
        command=plan.command,
        summary=replace(summarise(analysed.static.files, ranked, runs), fixed=written.count),
        files=analysed.static.files,
        findings=ranked,
        dynamic=runs,
        verification=results.verified.verification,
        notes=(*_notes(plan, results), *written.notes, *expired(plan.allow, date.today())),
        timings=_timings(results),
        regions=_regions(analysed.static, ranked),
        advice=results.advised.advice,
        root=str(plan.inputs.root),
        code_url=code_url(plan.inputs.root, os.environ),
        texts={path: sources.texts[path] for path in _shown_paths(ranked, runs or ()) if path in sources.texts},
    )
    tried = diagnosis.verification.fixes if diagnosis.verification is not None else ()
    if tried and not written.count:
        diagnosis = replace(diagnosis, patch=diff(diagnosis, unsafe=needs_unsafe(diagnosis.findings, tried)))
    return diagnosis


def _regions(static: StaticResult, findings: Iterable[Finding]) -> tuple[Region, ...]:
    """The regions with those of their findings that are shown; what is only possible is none of the others."""
    marks = {key_of(finding): finding.fingerprint for finding in findings}
    hidden = {key_of(finding) for finding in static.findings if finding.confidence != "possible"} - marks.keys()
    return tuple(
        replace(
            found.region,
            findings=tuple(marks[key] for key in found.findings if key in marks),
            silenced=len(hidden.intersection(found.findings)),
        )
        for found in static.regions
    )


def _shown_paths(findings: Sequence[Finding], runs: Sequence[DynamicRun]) -> dict[str, None]:
    """The files of which a report shows the source: those with findings that were run, and where a run failed."""
    raised = [run.raised_at.path for run in runs if run.raised_at is not None]
    return dict.fromkeys([*(f.location.path for f in findings if runs), *raised])


def _ranked(plan: Plan, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most important first, those marked that the settings allow for now."""
    return with_allowed(tuple(reason_once(rank(findings))), plan.allow, plan.inputs.root, date.today())


def _notes(plan: Plan, results: Results) -> tuple[str, ...]:
    """What the user has to know about the scan itself, a line each, in the order of the steps."""
    beside = beside_tested(plan.static.rules.asked_torch or results.completed.environment.get("torch"))
    return (
        *((beside,) if beside is not None else ()),
        *plan.static.rules.notes,
        *results.ran.notes,
        *nothing_checked(results.analysed.static, plan.selection, plan.static.rules, bool(results.ran.runs)),
        *results.verified.notes,
        *results.completed.notes,
        *dict.fromkeys(line for run in results.completed.runs or () for line in run.left_out),
        *results.advised.notes,
    )


def _timings(results: Results) -> dict[str, float]:
    """Seconds of each step that was made."""
    seconds = {
        "static": results.analysed.seconds,
        "dynamic": results.completed.seconds,
        "verify": results.verified.seconds,
        "advise": results.advised.seconds,
    }
    return {step: taken for step, taken in seconds.items() if taken is not None}


def _compared(plan: Plan, head: Diagnosis, analysed: Analysed, joined: Joined, session: Session) -> Diagnosis:
    if plan.compare is None:
        return notebooks.by_cell(head, analysed.cells)
    from graphdoctor.scan.steps.compare import compare

    return compare(plan, plan.compare, head, analysed.cells, frozenset(joined.sources.files), session)
