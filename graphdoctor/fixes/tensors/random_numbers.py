"""Random numbers of Python that Dynamo does not trace, in the form that it does."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def traced_draw(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``random.random()`` becomes ``random.uniform(0.0, 1.0)``: the same number of the same generator.

    CPython: ``uniform(a, b)`` returns ``a + (b - a) * random()``.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or editor.code(call.func) != "random.random" or call.args:
        return Refusal("Torch has another generator, so the numbers would change; draw with torch, or pass them in.")
    reason = "In eager the same number is drawn; under compile it is drawn when the call begins."
    return FixPlan((editor.replace(call, "random.uniform(0.0, 1.0)"),), "unsafe", reason)
