"""What a scan did not look at: a report that finds nothing there must not read as if it had looked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace

from graphdoctor.diagnosis.roots import roots
from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.labels import is_offered
from graphdoctor.model.left_out import NOTHING_MORE, RECOMPILES
from graphdoctor.model.runs import DynamicRun
from graphdoctor.report.wording import OUTCOMES, command, plural, run_title

#: What a run measures that came to its end.
_NOTHING = "graph breaks, fullgraph=True, recompiles and outputs"


def unchecked(diagnosis: Diagnosis) -> tuple[str, ...]:
    """One sentence each, the widest gaps first."""
    return (*_stopped(diagnosis), *_code(diagnosis), *_runs(diagnosis), *_findings(diagnosis), *_fixes(diagnosis))


def _stopped(diagnosis: Diagnosis) -> Iterator[str]:
    """Checks that were begun or planned, and not finished."""
    for why, runs in _by_reason(run for run in diagnosis.dynamic or () if run.outcome == "ok" and run.not_counted):
        yield f"Not all other inputs were tried{_in_modes(runs)}, so more may recompile than is said here: {why}."
    about_recompiles = (RECOMPILES, NOTHING_MORE)
    lines = dict.fromkeys(line for run in diagnosis.dynamic or () for line in run.left_out)
    yield from (f"{line[:1].upper()}{line[1:]}." for line in lines if not line.startswith(about_recompiles))


def _by_reason(runs: Iterable[DynamicRun]) -> Iterable[tuple[str, list[DynamicRun]]]:
    groups: dict[str, list[DynamicRun]] = {}
    for run in runs:
        groups.setdefault(run.not_counted, []).append(run)
    return groups.items()


def _in_modes(runs: Iterable[DynamicRun]) -> str:
    modes = dict.fromkeys(run.mode for run in runs if run.mode != "unknown")
    return f" in {' and '.join(modes)} mode" if modes else ""


def _code(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.dynamic is None:
        yield "No code was run: the findings are what the source shows, and a run may meet more."
    failed = sum(file.status == "failed" for file in diagnosis.files)
    skipped = sum(file.status == "skipped" for file in diagnosis.files)
    if failed:
        yield f"{plural(failed, 'file')} could not be read."
    if skipped:
        yield f"{plural(skipped, 'file')} {'was' if skipped == 1 else 'were'} skipped."


def _runs(diagnosis: Diagnosis) -> Iterator[str]:
    runs = diagnosis.dynamic or ()
    ran = [run for run in runs if run.outcome == "ok"]
    # Both modes, and all ranks, mostly leave out the same.
    gaps: dict[tuple[str, tuple[str, ...]], list[DynamicRun]] = {}
    for run in sorted(runs, key=lambda run: run.outcome == "ok"):
        failed = [] if run.outcome == "ok" else [f"{_NOTHING} were not measured, {OUTCOMES[run.outcome]}"]
        if parts := tuple(failed or _parts(run)):
            gaps.setdefault((run.device, parts), []).append(run)
    for (_, parts), same in gaps.items():
        targets = dict.fromkeys(run.target for run in same)
        named = replace(same[0], target=" and ".join(targets) if len(targets) < 4 else f"{len(targets)} targets")
        yield f"{run_title(named, [*dict.fromkeys(run.mode for run in same)])}: {', '.join(parts)}."
    on_device: dict[str, dict[str, None]] = {}
    for run in ran:
        for text in run.device_checks.unchecked if run.device_checks else ():
            on_device.setdefault(run.device, {})[text] = None
    for device, texts in on_device.items():
        nothing = "Nothing ran on a GPU. " if device == "cpu" else ""
        yield f"{nothing}Not measured on {device}: {', '.join(texts)}."
    if runs:
        yield from _kinds(runs, {*on_device})
    if any(run.ladder is None and not was_watched(run) for run in ran):
        yield "Speed was not measured: the graphs ran without Inductor."


def _kinds(runs: Sequence[DynamicRun], covered: Set[str]) -> Iterator[str]:
    """Modes and devices of no run; the devices in ``covered`` were listed before."""
    # A program makes its own calls; in which mode each was, a trace does not say.
    modes = {run.mode for run in runs if run.of_module and not was_watched(run)}
    if modes == {"eval"}:
        yield "Train mode was not run."
    if modes == {"train"}:
        yield "Eval mode was not run."
    if {run.device for run in runs} == {"cpu"} and "cpu" not in covered:
        yield "Nothing ran on a GPU: CUDA graphs, and what is different there, were not checked."


def _parts(run: DynamicRun) -> list[str]:
    """Checks that were not made in a run that came to its end."""
    missing = {
        "fullgraph=True was not tried": run.fullgraph.passes is None,
        "the outputs were not compared": run.numerics is None or run.numerics.equal is None,
        "only inputs of these sizes were tried, so what recompiles is not known": not (
            saw_other_inputs(run) or run.not_counted
        ),
    }
    return [text for text, is_missing in missing.items() if is_missing]


def saw_other_inputs(run: DynamicRun) -> bool:
    """Whether a function could have been compiled again in the run."""
    return bool(run.sweeps or run.recompiles) or was_watched(run)


def untried_modes(runs: Sequence[DynamicRun]) -> list[str]:
    """The modes in which only the sample's sizes were tried, where another mode had others."""
    tried = {run.mode for run in runs if saw_other_inputs(run)}
    return sorted({run.mode for run in runs} - tried) if tried else []


def was_watched(run: DynamicRun) -> bool:
    """Whether nothing was called for the report: a job made the calls, and its trace has all recompiles."""
    return run.fullgraph.passes is None and bool(run.fullgraph.error)


def _findings(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.dynamic is None:
        return
    missed = sum(finding.status == "not-reached" for finding in diagnosis.findings)
    untraced = sum(finding.status == "static-only" for finding in diagnosis.findings)
    if missed:
        yield f"{plural(missed, 'finding')} {'is' if missed == 1 else 'are'} on lines that the run did not reach."
    if untraced:
        yield f"{plural(untraced, 'finding')} {'is' if untraced == 1 else 'are'} predicted, not checked by a run."


def _fixes(diagnosis: Diagnosis) -> Iterator[str]:
    ran = frozenset(diagnosis.verification.fixes if diagnosis.verification else ())
    heads = roots(diagnosis.findings)
    # A fix of the same cause as one that was tried overlaps it.
    tried = {n for n, head in heads.items() if diagnosis.findings[head].fingerprint in ran}
    fixes = [
        f
        for number, f in enumerate(diagnosis.findings)
        if f.fix is not None and is_offered(f, owner=None) and (number not in tried or f.fingerprint in ran)
    ]
    untried = sum(f.fix is not None and f.fix.grade == "not-verified" and f.fingerprint not in ran for f in fixes)
    if untried:
        tries = "; `graphdoctor run --verify` tries them" if command(diagnosis) == "run" else ""
        yield f"{_of(untried, len(fixes))} tried in a run{tries}."
    if diagnosis.comparison and diagnosis.comparison.not_compared:
        missing = plural(diagnosis.comparison.not_compared, "finding")
        yield f"{missing} not compared with {diagnosis.comparison.base}: one side was not run or not read."


def _of(untried: int, fixes: int) -> str:
    """``The fix was not``, ``None of the 4 fixes was``, ``2 of the 4 fixes were not``."""
    if untried < fixes:
        return f"{untried:,} of the {fixes:,} fixes {'was' if untried == 1 else 'were'} not"
    return "The fix was not" if fixes == 1 else f"None of the {fixes:,} fixes was"
