"""The verdict, the sentence that every report begins with, and the numbers that they are made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphdoctor.breaks.locations import without_site
from graphdoctor.diagnosis.join import is_about_recompiles
from graphdoctor.diagnosis.recompile_causes import recompile_causes
from graphdoctor.diagnosis.sites import all_sites, sites
from graphdoctor.model.findings import Summary
from graphdoctor.model.labels import is_offered

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding, ScannedFile, Verdict
    from graphdoctor.model.runs import DynamicRun, Recompile

_WORDS = {
    "raised": "raised an exception",
    "exited": "ended the process",
    "crashed": "crashed",
    "timeout": "ran out of time",
    "memory": "ran out of memory",
    "no-target": "found nothing to run",
}
_COMPILING = "torch.compile"


def summarise(files: Sequence[ScannedFile], findings: Sequence[Finding], runs: Sequence[DynamicRun] | None) -> Summary:
    """The summary of one scan; ``runs`` is None when nothing was run."""
    verdict = _verdict(runs)
    finished = [run for run in runs or () if run.outcome == "ok"]
    places = [s.first for s in sites(finished)]
    errors = sum(f.severity == "error" for f in findings)
    warnings = sum(f.severity == "warning" for f in findings)
    failed = sum(f.status == "failed" for f in files)
    if verdict == "static-only":
        headline = _static_headline(findings, failed, len(files))
    else:
        headline = _headline(verdict, runs or (), finished, findings)
    return Summary(
        verdict=verdict,
        headline=headline,
        errors=errors,
        warnings=warnings,
        breaks=len(places) if finished else None,
        breaks_own=sum(b.owner == "own" for b in places) if finished else None,
        graphs=max(run.graphs for run in finished) if finished else None,
        fixable=sum(map(is_offered, findings)),
        files=len(files),
        failed=failed,
    )


def _verdict(runs: Sequence[DynamicRun] | None) -> Verdict:
    """Ready: every run ended well with a graph, no break but torch's own, and nothing that ``failures`` names.

    What breaks once a size varies is not ready, whatever the sizes of the sample do.
    """
    if runs is None:
        return "static-only"
    finished = [run for run in runs if run.outcome == "ok"]
    if not finished:
        # What ends well in eager and raises under torch.compile is known not to be ready.
        return "not-ready" if any(run.fails_compiled for run in runs) else "not-run"
    if any(run.graphs == 0 for run in finished):
        return "nothing-compiled"
    return "ready" if all(map(_is_ready, runs)) else "not-ready"


def _is_ready(run: DynamicRun) -> bool:
    breaks = any(entry.owner != "torch" for entry in (*run.breaks, *run.varied_breaks))
    fails = run.fullgraph.passes is False or _is_cut_short(run) or failures(run)
    return run.outcome == "ok" and not breaks and not fails


def _is_cut_short(run: DynamicRun) -> bool:
    """Whether ``fullgraph=True`` was to be tried and was not, for lack of time: what is not known is not ready."""
    return run.fullgraph.passes is None and bool(run.left_out)


def failures(run: DynamicRun) -> tuple[str, ...]:
    """What is wrong with a run that ended well, beside breaks and ``fullgraph=True``: one clause for each."""
    found = []
    if run.numerics is not None and run.numerics.equal is False:
        found.append("compiled outputs differ from eager")
    if reached := [recompile for recompile in run.recompiles if recompile.at_limit]:
        in_one_call = all(recompile.later_calls == 0 for recompile in reached)
        uncompiled = "each call runs uncompiled in part" if in_one_call else "later calls run uncompiled"
        found.append(f"the recompile limit is reached: {uncompiled}")
    elif any(r.kind == "attribute" and _again(r) >= _UNBOUNDED for r in run.recompiles):
        found.append("each call is compiled again")
    for stage in run.ladder.stages if run.ladder is not None else ():
        if stage.outcome == "failed":
            found.append(stage.failure)
        elif stage.outcome == "differs":
            found.append(f"backend {stage.name} gives other outputs than eager")
    for backend in run.audit.backends if run.audit is not None else ():
        if backend.outcome == "differs":
            oracles = ", ".join(dict.fromkeys(deviation.oracle for deviation in backend.deviations))
            found.append(f"compiling with {backend.name} changes the answer ({oracles})")
    broken = [export.way for export in run.export if export.outcome != "ok"]
    if broken:
        found.append(f"torch.export fails ({' and '.join(broken)})")
    step = run.training
    if step is not None and step.outcome != "ok":
        found.append(f"the training step {_WORDS[step.outcome]}")
    elif step is not None and step.numerics is not None and step.numerics.equal is False:
        found.append("the training step differs from eager")
    return tuple(found)


#: Where this many calls are compiled again because of one attribute, it has another value in each call.
_UNBOUNDED = 3


def _again(recompile: Recompile) -> int:
    """How many calls one cause had compiled again; where they are not told apart, how many compilations it cost."""
    if recompile.later_calls is not None:
        return recompile.later_calls
    return recompile.compilations - 1 if recompile.caused is None else recompile.caused


def _predicted(findings: Sequence[Finding], finished: Sequence[DynamicRun]) -> list[str]:
    """Counts, in words, of what is predicted in the user's code and a ready run neither confirms nor refutes."""
    seen = {(r.path, r.line) for run in finished for r in run.recompiles}
    own = [f for f in findings if f.owner == "own" and not f.allowed and f.severity != "info"]
    breaks = sum(f.severity == "error" and bool(f.gb_ids) and f.status == "not-reached" for f in own)
    about = [f for f in own if is_about_recompiles(f) and f.status not in ("confirmed", "refuted")]
    recompiles = sum((f.location.path, f.location.line) not in seen for f in about)
    parts = [f"{_count(breaks, 'predicted graph break')} that the run did not reach"] if breaks else []
    return [*parts, _count(recompiles, "predicted recompile cause")] if recompiles else parts


def _headline(
    verdict: Verdict, runs: Sequence[DynamicRun], finished: Sequence[DynamicRun], findings: Sequence[Finding]
) -> str:
    failed = _failed(runs)
    if verdict == "not-run":
        return f"Cannot tell: {'; '.join(failed)}"
    if not finished:
        return f"Not ready: {'; '.join(failed)}"
    places = [s.first for s in sites(finished)]
    own = sum(b.owner == "own" for b in places)
    other = sum(b.owner == "third-party" for b in places)
    parts = []
    if own or not other:
        parts.append(f"{_count(own, 'graph break')} in your code")
    if other:
        parts.append(f"{_count(other, 'graph break')} in libraries")
    causes = recompile_causes(finished)
    if causes:
        parts.append(_count(len(causes), "recompile cause"))
    verdicts = [run.fullgraph.passes for run in finished]
    if any(p is False for p in verdicts):
        parts.append("fullgraph=True fails")
    elif verdicts and all(verdicts):
        parts.append("fullgraph=True passes")
    elif any(map(_is_cut_short, finished)):
        parts.append("fullgraph=True was not tried to its end")
    wrong = dict.fromkeys(failure for run in finished for failure in failures(run))
    varied = sum(site.first.owner != "torch" for site in all_sites(finished)[len(places) :])
    if varied:
        parts.append(f"{_count(varied, 'graph break')} in calls with other inputs")
    parts += wrong
    if verdict == "nothing-compiled":
        modes = " and ".join(run.mode for run in finished if run.graphs == 0 and run.mode != "unknown")
        where = f" in {modes} mode" if modes else ""
        return f"Not ready: nothing is compiled{where} (0 graphs): " + ", ".join([*parts, *failed])
    start = "Ready" if verdict == "ready" else f"Not ready{_in_one_mode(runs)}"
    if verdict == "not-ready" and other and not (own or causes or varied or wrong or failed):
        start = "Not ready, though your code is"
    return f"{start}: " + ", ".join([*parts, *failed, *(_predicted(findings, finished) if verdict == "ready" else ())])


def _in_one_mode(runs: Sequence[DynamicRun]) -> str:
    """`` in train mode`` where all that is in the way was seen there, and another mode is ready."""
    if any(run.outcome != "ok" or run.varied_breaks or failures(run) for run in runs):
        # These say for themselves where they failed, or were tried in one mode only.
        return ""
    ready = {run.mode for run in runs if _is_ready(run)}
    others = {run.mode for run in runs if not _is_ready(run)}
    return f" in {min(others)} mode" if ready and len(others) == 1 and not ready & others else ""


def _static_headline(findings: Sequence[Finding], failed: int, files: int) -> str:
    """``2 predicted graph breaks and 1 other error found (static analysis)``."""
    if failed and failed == files:
        return f"Nothing was checked: {_count(failed, 'file')} could not be read"
    errors = [finding for finding in findings if finding.severity == "error"]
    breaks = sum(bool(finding.gb_ids) for finding in errors)
    others, warnings = len(errors) - breaks, sum(finding.severity == "warning" for finding in findings)
    parts = [_count(breaks, "predicted graph break")] if breaks else []
    parts += [_count(others, "other error" if breaks else "error")] if others else []
    parts += [_count(warnings, "warning")] if warnings else []
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]])) or "No graph breaks"
    text = f"{listed} found (static analysis)"
    return text + (f", {_count(failed, 'file')} could not be read" if failed else "")


def _failed(runs: Sequence[DynamicRun]) -> list[str]:
    """How the runs ended that did not end well; both modes mostly end in the same way."""
    ends: dict[str, list[str]] = {}
    for run in runs:
        if run.outcome != "ok":
            ends.setdefault(_ended(run), []).append(run.mode)
    return [end if end.startswith(_COMPILING) else f"{_the_runs(modes)} {end}" for end, modes in ends.items()]


def _the_runs(modes: Sequence[str]) -> str:
    known = [mode for mode in dict.fromkeys(modes) if mode != "unknown"]
    return f"the {' and '.join(known)} run{'s' if len(known) > 1 else ''}" if known else "the run"


def _ended(run: DynamicRun) -> str:
    if run.raised_at is not None and run.fails_compiled:
        error = run.detail.partition(" under torch.compile")[0]
        return f"{_COMPILING} raises {error} at {without_site(run.raised_at.path)}:{run.raised_at.line}"
    if run.raised_at is not None and run.outcome == "exited":
        return f"called {run.detail.rpartition(' (')[0]}, at {without_site(run.raised_at.path)}:{run.raised_at.line}"
    if run.raised_at is not None:
        # "RuntimeError in eager": the message follows where the reports show the line.
        return f"raised {run.detail.partition(':')[0]} at {without_site(run.raised_at.path)}:{run.raised_at.line}"
    # A detail that names a place has brackets of its own.
    detail = f": {run.detail}" if "(" in run.detail else f" ({run.detail})"
    return _WORDS[run.outcome] + (detail if run.detail else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
