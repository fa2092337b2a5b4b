"""What to do first: the few changes that remove most."""

from __future__ import annotations

from dataclasses import dataclass

from graphdoctor.model import Diagnosis, Finding
from graphdoctor.report.words import plural, recompile_effect, recompile_place, recompiles, remedy
from graphdoctor.run_model import Recompile


@dataclass(frozen=True)
class Action:
    """One change: what to do, where, and what it removes. ``finding`` is None for a recompile."""

    title: str
    place: str
    effect: str
    finding: Finding | None = None


def first_actions(diagnosis: Diagnosis, limit: int = 5) -> tuple[Action, ...]:
    """At most ``limit`` actions, in the order of the findings, which come ranked.

    Findings that the run refuted, did not reach, or that are mere information are no actions.
    """
    actions = [_repair(finding) for finding in diagnosis.findings if _counts(finding)]
    # Recompiles come after the breaks that multiply them.
    actions += [_remedy(recompile) for recompile in recompiles(diagnosis.dynamic or ()) if remedy(recompile)]
    return tuple(actions[:limit])


def _counts(finding: Finding) -> bool:
    return finding.severity != "info" and finding.status not in ("refuted", "not-reached")


def _repair(finding: Finding) -> Action:
    place = f"{finding.location.path}:{finding.location.line}"
    return Action(finding.suggestion or finding.message, place, _effect(finding), finding)


def _effect(finding: Finding) -> str:
    if finding.status not in ("confirmed", "dynamic-only"):
        return "removes what the source suggests; a run will tell"
    if not finding.events:
        # Nothing broke there by default.
        return "lets fullgraph=True get past it"
    breaks = f"removes {plural(finding.events, 'graph break event')}"
    return f"{breaks} and lets {finding.function or 'the function'} be compiled" if finding.whole_frame else breaks


def _remedy(recompile: Recompile) -> Action:
    return Action(remedy(recompile), recompile_place(recompile), f"recompiles: {recompile_effect(recompile)}")
