"""A transformer of torch is told whether its mask is the causal one, and compares none."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.types import latest
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.torch_tables import COMPARED_MASKS
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import TorchModule
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_MADE_BY = ("generate_square_subsequent_mask", "_generate_square_subsequent_mask")


def causal_hint(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``encoder(x, mask)`` gets ``is_causal=True`` where the mask is made as the causal one, else False."""
    call = hit.place
    if not isinstance(call, cst.Call) or any(a.star for a in call.args):
        return Refusal("It is not known here which of the arguments is the mask.")
    classes = {o.qualname.rpartition(".")[2] for o in options(editor.value(call.func)) if isinstance(o, TorchModule)}
    if len(classes) != 1 or not classes <= COMPARED_MASKS.keys():
        return Refusal("It is not known here which layer is called.")
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    plain = [a.value for a in call.args if a.keyword is None]
    added = []
    for name, position, argument in COMPARED_MASKS[classes.pop()]:
        mask = given.get(name, plain[position] if len(plain) > position else None)
        if mask is not None and argument not in given:
            added.append(f"{argument}={_is_causal(mask, editor)}")
    last = call.args[-1].value
    place = editor.location(last)
    # Parentheses around an expression are not part of its place.
    behind = "".join(map(editor.module.tree.code_for_node, last.rpar))
    if editor.newline in behind:
        return Refusal("The last argument stands in parentheses of several lines.")
    end = (place.end_line, place.end_column + len(behind))
    reason = "The layer is told what it would find out by reading the mask; another kernel may compute the attention."
    return FixPlan((Edit(editor.path, end, end, f", {', '.join(added)}"),), "unsafe", reason)


def _is_causal(mask: cst.BaseExpression, editor: Editor) -> bool:
    made = latest(mask, editor) if isinstance(mask, cst.Name) else mask
    return isinstance(made, cst.Call) and called(made) in _MADE_BY
