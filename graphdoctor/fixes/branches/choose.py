"""Several rewrites for one finding: the first that fits is offered."""

from __future__ import annotations

from collections.abc import Callable

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal

Rewrite = Callable[[Hit, Editor], FixPlan | Refusal]


def first_fit(hit: Hit, editor: Editor, *rewrites: Rewrite) -> FixPlan | Refusal:
    """What the first of ``rewrites`` that does not refuse offers; else the refusal of the first one."""
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
