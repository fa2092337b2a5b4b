"""Whether one expression takes what two calls give. Not a rule."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from graphdoctor.static.usage.events import dotted
from graphdoctor.static.usage.outputs import OUTPUT_PARTS, VIEWS

from ._collected import NO_READS, Lists
from ._places import Places


def is_beside(places: Places, call: cst.CSTNode, calls: Collection[cst.CSTNode]) -> bool:
    """Whether one expression takes what a call and a later one of ``calls`` give: ``fast(x) - fast(y)``."""
    lists = Lists(places)
    holder = _holder(places, lists, call)
    return holder is not None and any(
        places.order[call] < places.order[other] and _holder(places, lists, other) is holder
        for other in calls
        if other is not call and other in places.parents
    )


def _holder(places: Places, lists: Lists, node: cst.CSTNode) -> cst.CSTNode | None:
    """The operation, display or call that takes an output, or a part or view of it."""
    for around in places.above(node):
        attribute = around.attr.value if isinstance(around, cst.Attribute) else None
        called = places.parents.get(around)
        if attribute in VIEWS and isinstance(called, cst.Call):
            return _holder(places, lists, called)
        if attribute in OUTPUT_PARTS:
            return _holder(places, lists, around)
        if isinstance(around, cst.Arg):
            return called if isinstance(called, cst.Call) and dotted(called.func) not in NO_READS else None
        if isinstance(around, cst.Element):
            handed = places.parents[called] if called is not None else None
            return called if isinstance(handed, cst.Arg) and lists.is_given(handed) else None
        return around if isinstance(around, cst.BinaryOperation) else None
    return None
