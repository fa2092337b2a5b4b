"""A collective that Dynamo does not trace, in the functional form that belongs to the graph.

Measured on torch 2.13 with two ranks (gloo): values and gradients are those of the original, which autograd does not
see either, hence ``detach()``: through the functional form itself, no gradient would come back.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.imports import last_import
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_MODULE = "torch.distributed._functional_collectives"
_REASON = (
    "The tensor gets what the functional form of the collective gives, a part of the graph; no rank may leave it out."
)
_AT_ONCE = (
    "The collective is done when the call returns; in the graph the backend waits for it where its result is used."
)


def wait_at_once(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``work = dist.all_reduce(t, async_op=True)`` and ``work.wait()`` become ``dist.all_reduce(t)``.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or any(a.star for a in call.args):
        raise Refuse("the arguments of the call are not written out")
    waits: list[cst.CSTNode] = []
    statement = editor.statement_of(call)
    if isinstance(statement, cst.Assign):
        for use in uses(statement, editor):
            wait = editor.parent(editor.parent(use) or use)
            done = editor.parent(wait) if isinstance(wait, cst.Call) and called(wait) == "wait" else None
            if not isinstance(done, cst.Expr):
                raise Refuse("the handle is used for more than waiting")
            waits.append(done)
    elif not isinstance(statement, cst.Expr) or statement.value is not call:
        raise Refuse("the handle is used for more than waiting")
    kept = [a for a in call.args if a.keyword is None or a.keyword.value != "async_op"]
    labels = [f"{a.keyword.value}=" if a.keyword is not None else "" for a in kept]
    arguments = ", ".join(label + editor.code(a.value) for label, a in zip(labels, kept, strict=True))
    edits = [editor.replace(statement, f"{editor.code(call.func)}({arguments})"), *map(editor.delete, waits)]
    return FixPlan(tuple(edits), "unsafe", _AT_ONCE)


def broadcast_in_graph(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``dist.broadcast(t, 0)`` becomes ``t.detach().copy_(functional.broadcast(t.detach(), 0, group))``."""
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) != "broadcast":
        return Refusal("Call it in the code around the compiled function.")
    statement = editor.statement_of(call)
    if not isinstance(statement, cst.Expr) or statement.value is not call:
        return Refusal("The result of the call is used, such as the handle of an asynchronous call.")
    given = dict(zip(("tensor", "src", "group"), (a for a in call.args if a.keyword is None), strict=False))
    given |= {a.keyword.value: a for a in call.args if a.keyword is not None}
    if set(given) - {"tensor", "src", "group"} or not {"tensor", "src"} <= set(given) or any(a.star for a in call.args):
        return Refusal("The call has arguments other than the tensor, the source rank and a group.")
    tensor = given["tensor"].value
    if not isinstance(tensor, (cst.Name, cst.Attribute)):
        return Refusal("The tensor is written to twice in the rewrite; give it a name first.")
    last = last_import(editor.module.tree)
    if last is None:
        return Refusal("There is no place for an import, because the imports are not at the top of the file.")
    group = editor.code(given["group"].value) if "group" in given else "torch.distributed.group.WORLD"
    if group == "None":
        group = "torch.distributed.group.WORLD"
    name = editor.code(tensor)
    text = f"{name}.detach().copy_({_MODULE}.broadcast({name}.detach(), {editor.code(given['src'].value)}, {group}))"
    edits: tuple[Edit, ...] = (editor.replace(call, text),)
    line = f"import {_MODULE}"
    if line not in editor.module.text:
        number = editor.location(last).end_line + 1
        edits = (Edit(editor.path, (number, 1), (number, 1), line + editor.newline), *edits)
    return FixPlan(edits, "unsafe", _REASON)
