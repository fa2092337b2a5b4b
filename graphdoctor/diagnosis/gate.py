"""Whether a diagnosis passes: what continuous integration goes by. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from graphdoctor.diagnosis import summary
from graphdoctor.diagnosis.compare import new_findings

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding

FailOn = Literal["new", "any", "none"]


def failures(diagnosis: Diagnosis, fail_on: FailOn, max_breaks: int | None = None) -> tuple[str, ...]:
    """Why ``diagnosis`` does not pass, one line each; empty when it passes.

    ``any``: an error, or a run that does not show the code ready. ``new``: an error that the base did not have, or a
    run that fell behind the base's. ``max_breaks``: more errors than that. What the allow-list names never counts.
    """
    reasons = _any(diagnosis) if fail_on == "any" else _new(diagnosis) if fail_on == "new" else ()
    breaks = sum(map(counts, diagnosis.findings))
    if max_breaks is not None and breaks > max_breaks:
        reasons = (*reasons, f"{_number(breaks, 'graph break')}, and at most {max_breaks} allowed")
    return reasons


def counts(finding: Finding) -> bool:
    """True for what a gate goes by: errors, and breaks that happened in the user's code; nothing refuted or allowed."""
    if finding.status == "refuted" or finding.allowed:
        return False
    happened = finding.status in ("confirmed", "dynamic-only") and finding.owner == "own"
    return finding.severity == "error" or happened


def _any(diagnosis: Diagnosis) -> tuple[str, ...]:
    errors = sum(map(counts, diagnosis.findings))
    if errors:
        return (_number(errors, "error"),)
    verdict = diagnosis.summary.verdict
    bad = ("nothing-compiled", "not-run") if _is_excused(diagnosis) else ("nothing-compiled", "not-run", "not-ready")
    return (f"the verdict of the run is {verdict}",) if verdict in bad else ()


def _new(diagnosis: Diagnosis) -> tuple[str, ...]:
    reasons = []
    errors = sum(map(counts, new_findings(diagnosis)))
    if errors:
        reasons.append(_number(errors, "new error"))
    verdict = diagnosis.summary.verdict
    before = diagnosis.comparison.summary.verdict if diagnosis.comparison else "static-only"
    if verdict == "not-run" and before != verdict:
        reasons.append("the run failed")
    if verdict == "not-ready" and before == "ready" and any(run.fails_compiled for run in diagnosis.dynamic or ()):
        reasons.append("torch.compile raises an exception")
    if verdict == "nothing-compiled" and before in ("ready", "not-ready"):
        reasons.append("nothing is compiled any more")
    return tuple(reasons)


def _is_excused(diagnosis: Diagnosis) -> bool:
    """The code is not ready because of allowed breaks alone: each break that happened is, and nothing else failed."""
    happened = [f for f in diagnosis.findings if f.status in ("confirmed", "dynamic-only") and f.owner != "torch"]
    ended = all(run.outcome == "ok" and not summary.failures(run) for run in diagnosis.dynamic or ())
    return ended and bool(happened) and all(f.allowed for f in happened)


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
