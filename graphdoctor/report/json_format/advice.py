"""The part of the JSON contract on where to put torch.compile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdoctor.model.advice import Advice, Placement

Json = dict[str, Any]


def fields(advice: Advice | None) -> Json | None:
    """``proposed`` are indices into ``placements``."""
    if advice is None:
        return None
    return {
        "target": advice.target,
        "mode": advice.mode,
        "calls": advice.calls,
        "proposed": list(advice.proposed),
        "reason": advice.reason or None,
        "placements": [_placement(placement) for placement in advice.placements],
        "shapes": [
            {"text": shapes.text, "compilations": shapes.compilations, "failure": shapes.failure or None}
            for shapes in advice.shapes
        ],
        "notes": [{"title": note.title, "code": note.code, "text": note.text or None} for note in advice.notes],
        "environment": {key: advice.environment[key] for key in sorted(advice.environment)},
    }


def _placement(placement: Placement) -> Json:
    return {
        "kind": placement.kind,
        "code": placement.code,
        "names": list(placement.names),
        "compilations": placement.compilations,
        "later": placement.later,
        "breaks": placement.breaks,
        "at_limit": placement.at_limit,
        "share": placement.share,
        "setting": placement.setting or None,
        "failure": placement.failure or None,
    }
