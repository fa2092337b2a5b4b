"""What a run did not check, in a few words, for the top of a page; ``unchecked`` has the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.labels import is_offered
from graphdoctor.model.runs import DynamicRun
from graphdoctor.report.unchecked import saw_other_inputs, untried_modes, was_watched


def in_brief(diagnosis: Diagnosis) -> tuple[str, ...]:
    """``GPU``, ``speed``, ``recompiles in train mode``; empty where nothing ran: then nothing was checked."""
    ran = [run for run in diagnosis.dynamic or () if run.outcome == "ok"]
    return (*_of_runs(ran), *_of_fixes(diagnosis)) if ran else ()


def _of_runs(ran: Sequence[DynamicRun]) -> Iterator[str]:
    if any(run.fullgraph.passes is None for run in ran):
        yield "fullgraph=True"
    if any(run.numerics is None or run.numerics.equal is None for run in ran):
        yield "outputs"
    missing = untried_modes(ran)
    if missing:
        yield f"recompiles in {' and '.join(missing)} mode"
    elif not any(map(saw_other_inputs, ran)):
        yield "recompiles"
    modes = {run.mode for run in ran if run.of_module and not was_watched(run)}
    if len(modes) == 1 and modes <= {"eval", "train"}:
        yield f"{'train' if modes == {'eval'} else 'eval'} mode"
    if {run.device for run in ran} == {"cpu"}:
        yield "GPU"
    if any(run.ladder is None for run in ran):
        yield "speed"


def _of_fixes(diagnosis: Diagnosis) -> Iterator[str]:
    offered = any(is_offered(finding) for finding in diagnosis.findings)
    if offered and (diagnosis.verification is None or not diagnosis.verification.fixes):
        yield "fixes"
