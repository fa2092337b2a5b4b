"""The causes of recompiles over all runs, each once: what reports list and count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphdoctor.model.findings import Guarded

if TYPE_CHECKING:
    from graphdoctor.model.runs import DynamicRun, Recompile


def recompile_causes(runs: Iterable[DynamicRun]) -> dict[Recompile, list[DynamicRun]]:
    """Each cause once, with the runs that met it.

    Of a function that is compiled again for one cause, within a call and from call to call, it is the one that counts
    the most compilations.
    """
    met: dict[object, tuple[list[Recompile], list[DynamicRun]]] = {}
    for run in runs:
        for each in run.recompiles:
            named = each.name is not None and each.verified_compilations is None
            cause = (each.kind, each.name, each.dimension) if named else (each.cause, each.verified_compilations)
            same, those = met.setdefault((each.path, each.line, each.remedy, cause), ([], []))
            same.append(each)
            if run not in those[-1:]:
                those.append(run)
    return {max(same, key=lambda each: each.compilations): those for same, those in met.values()}


def guarded_by(recompile: Recompile) -> Guarded | None:
    """The number that changed; None where something else did."""
    if recompile.kind not in ("value", "attribute") or recompile.path is None or recompile.name is None:
        return None
    return Guarded(recompile.path, recompile.name)
