"""What to do first: the few changes that remove most."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from graphdoctor.diagnosis.roots import roots
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import is_offered, label
from graphdoctor.model.runs import Recompile
from graphdoctor.report.wording import named, plural, recompile_effect, recompile_place, recompiles, remedy


@dataclass(frozen=True)
class Action:
    """One change: what to do, where, and what it removes. ``finding`` is None for a recompile."""

    title: str
    place: str
    effect: str
    finding: Finding | None = None


def first_actions(diagnosis: Diagnosis, limit: int = 5) -> tuple[Action, ...]:
    """At most ``limit`` actions, in the order of the findings, which come ranked.

    Findings that the run refuted, did not reach, or that are mere information are no actions; nor are those that have
    the cause of another.
    """
    heads = roots(diagnosis.findings)
    shared = Counter(heads.values())
    actions = [
        _repair(finding, shared[number] - 1)
        for number, finding in enumerate(diagnosis.findings)
        if _counts(finding) and heads[number] == number
    ]
    # Recompiles come after the breaks that multiply them.
    actions += [_remedy(recompile) for recompile in recompiles(diagnosis.dynamic or ()) if remedy(recompile)]
    return tuple(actions[:limit])


def _counts(finding: Finding) -> bool:
    return finding.severity != "info" and finding.status not in ("refuted", "not-reached")


def _repair(finding: Finding, others: int) -> Action:
    """``others`` counts the findings that have the same cause."""
    place = f"{finding.location.path}:{finding.location.line}"
    subject = named(finding)
    what = finding.suggestion or finding.message
    title = f"{subject}: {what}" if subject and finding.suggestion else what
    effect = _effect(finding)
    if others:
        effect += f"; {plural(others, 'more finding')} {'has' if others == 1 else 'have'} the same cause"
    if finding.fix is not None and is_offered(finding, owner=None):
        effect += f"; {label(finding.fix)} fix"
    return Action(title, place, effect, finding)


def _effect(finding: Finding) -> str:
    if finding.status not in ("confirmed", "dynamic-only"):
        return "effect unknown: only a run shows it"
    if not finding.events:
        # Nothing broke there by default.
        return "lets fullgraph=True get past it"
    breaks = "removes a graph break" + (f" (met {finding.events} times)" if finding.events > 1 else "")
    return f"{breaks} and lets {finding.function or 'the function'} be compiled" if finding.whole_frame else breaks


def _remedy(recompile: Recompile) -> Action:
    return Action(remedy(recompile), recompile_place(recompile), f"recompiles: {recompile_effect(recompile)}")
