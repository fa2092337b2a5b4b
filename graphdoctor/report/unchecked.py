"""What a scan did not look at: a report that finds nothing there must not read as if it had looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.labels import is_offered
from graphdoctor.model.runs import DynamicRun
from graphdoctor.report.wording import OUTCOMES, plural, run_title


def unchecked(diagnosis: Diagnosis) -> tuple[str, ...]:
    """One sentence each, the widest gaps first."""
    return (*_code(diagnosis), *_runs(diagnosis), *_findings(diagnosis), *_fixes(diagnosis))


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
    for run in runs:
        if run.outcome != "ok":
            yield f"{run_title(run)}: not measured, {OUTCOMES[run.outcome]}."
    for run in ran:
        parts = _parts(run)
        if parts:
            yield f"{run_title(run)}: {', '.join(parts)}."
    # Both modes leave out the same on a device.
    on_device: dict[str, dict[str, None]] = {}
    for run in ran:
        for text in run.device_checks.unchecked if run.device_checks else ():
            on_device.setdefault(run.device, {})[text] = None
    for device, texts in on_device.items():
        yield f"On {device}: {', '.join(texts)}."
    if ran:
        yield from _kinds(runs)


def _kinds(runs: Sequence[DynamicRun]) -> Iterator[str]:
    modes = {run.mode for run in runs}
    if "train" not in modes:
        yield "Train mode was not run."
    if "eval" not in modes:
        yield "Eval mode was not run."
    if {run.device for run in runs} == {"cpu"}:
        yield "Nothing ran on a GPU: CUDA graphs, and what is different there, were not checked."


def _parts(run: DynamicRun) -> list[str]:
    """What was not tried in a run that went well."""
    missing = {
        "fullgraph=True was not tried": run.fullgraph.passes is None,
        "the outputs were not compared": run.numerics is None or run.numerics.equal is None,
        "no other inputs were tried, so what recompiles is not known": not run.sweeps and not run.recompiles,
        "not all variants were run": bool(run.detail),
    }
    return [text for text, is_missing in missing.items() if is_missing]


def _findings(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.dynamic is None:
        return
    missed = sum(finding.status == "not-reached" for finding in diagnosis.findings)
    untraced = sum(finding.status == "static-only" for finding in diagnosis.findings)
    if missed:
        yield f"{plural(missed, 'finding')} on lines that the sample did not reach."
    if untraced:
        yield f"{plural(untraced, 'finding')} on lines that Dynamo never traced."


def _fixes(diagnosis: Diagnosis) -> Iterator[str]:
    fixes = [finding.fix for finding in diagnosis.findings if finding.fix and is_offered(finding, owner=None)]
    untried = sum(fix.grade == "not-verified" for fix in fixes)
    if untried:
        yield f"{plural(untried, 'fix', 'fixes')} of {len(fixes):,} not verified by a run."
    if diagnosis.comparison and diagnosis.comparison.not_compared:
        missing = plural(diagnosis.comparison.not_compared, "finding")
        yield f"{missing} not compared with {diagnosis.comparison.base}: one side was not run or not read."
