"""The fields of a run in the JSON contract on the parts and layers that are at fault."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdoctor.model.runs import DynamicRun


def fields(run: DynamicRun) -> dict[str, Any]:
    """``modules``, ``blocks``, ``readiness``, ``ladder``, ``audit``, ``export`` and so on: as in the model.

    The scripts of ladders and audits are files of their own, so they are left out.
    """
    audit = None if run.audit is None else _plain(asdict(replace(run.audit, repro=None, issue=None)))
    for name in ("repro", "issue"):
        (audit or {}).pop(name, None)
    ladder = None if run.ladder is None else {"stages": [_plain(asdict(stage)) for stage in run.ladder.stages]}
    return {
        "modules": [_plain(asdict(node)) for node in run.modules],
        "blocks": [_plain(asdict(group)) for group in run.blocks],
        "readiness": _plain(asdict(run.readiness)) if run.readiness else None,
        "ladder": ladder,
        "audit": audit,
        "export": [_plain(asdict(made)) for made in run.export],
        "training": _plain(asdict(run.training)) if run.training else None,
        "device_checks": _plain(asdict(run.device_checks)) if run.device_checks else None,
    }


def _plain(value: Any) -> Any:
    """``value`` as JSON data, with null for numbers that JSON cannot hold and for an empty detail."""
    if isinstance(value, dict):
        return {key: None if key == "detail" and not item else _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
