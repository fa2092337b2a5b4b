"""Several rewrites for one finding: the first that fits is offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal

Rewrite = Callable[[Hit, Editor], FixPlan | Refusal]


def by_name(hit: Hit, editor: Editor, named: Mapping[str, Rewrite], *rewrites: Rewrite) -> FixPlan | Refusal:
    """The rewrite for the function that is called, else the first of the others that fits."""
    own = named.get(called(hit.place)) if isinstance(hit.place, cst.Call) else None
    return first_fit(hit, editor, own) if own is not None else first_fit(hit, editor, *rewrites)


def first_fit(hit: Hit, editor: Editor, *rewrites: Rewrite) -> FixPlan | Refusal:
    """The plan of the first of ``rewrites`` that does not refuse; else the refusal of the first one."""
    refusals: list[Refusal] = []
    for rewrite in rewrites:
        try:
            plan = rewrite(hit, editor)
        except Refuse as refusal:
            plan = Refusal(f"{str(refusal)[:1].upper()}{str(refusal)[1:]}.")
        if isinstance(plan, FixPlan):
            return plan
        refusals.append(plan)
    return refusals[0]
