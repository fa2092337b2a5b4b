"""An ``autograd.Function`` that computes anew in its backward becomes ``torch.utils.checkpoint``.

The class keeps a function and its inputs, ``Own.apply(function, len(inputs), *inputs, *parameters)``, and runs it with
gradients when they are asked for. What ``checkpoint`` does with ``use_reentrant=False`` is traced to one graph.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.types import assigned
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

_REASON = (
    "`torch.utils.checkpoint` computes anew in the backward pass as `{name}` does. It draws the same random numbers "
    "both times, which the class does not."
)


def library_checkpoint(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The call of a class that checkpoints by hand becomes a call of ``torch.utils.checkpoint``.

    The hit is in the ``backward`` of that class. Raises Refuse where it does not fit.
    """
    owner = next((outer for outer in editor.ancestors(hit.place) if isinstance(outer, cst.ClassDef)), None)
    if owner is None:
        return Refusal("This is no method of a class.")
    _check_class(owner, editor)
    name = owner.name.value
    applied = [call for call in find(editor.module.tree, cst.Call) if editor.code(call.func) == f"{name}.apply"]
    if len(applied) != 1:
        raise Refuse(f"`{name}.apply` is not called exactly once in this file")
    function, inputs, edits = _arguments(applied[0], editor)
    text = f"torch.utils.checkpoint.checkpoint({function}, *{inputs}, use_reentrant=False)"
    edits = (*editor.torch_import(applied[0]), *edits, editor.replace(applied[0], text))
    return FixPlan(edits, "unsafe", _REASON.format(name=name))


def _check_class(owner: cst.ClassDef, editor: Editor) -> None:
    """Refuse a class that does more than to run a function of which it gets the number of inputs."""
    methods = {m.name.value: m for m in owner.body.body if isinstance(m, cst.FunctionDef)}
    forward, backward = methods.get("forward"), methods.get("backward")
    plain = forward is not None and len(forward.params.params) == 3 and isinstance(forward.params.star_arg, cst.Param)
    if forward is None or backward is None or not plain:
        raise Refuse("its forward does not get a function, a number of inputs, and the inputs")
    context, function, number = (param.name.value for param in forward.params.params)
    assert isinstance(forward.params.star_arg, cst.Param)
    values = forward.params.star_arg.name.value
    kept = {editor.code(a.targets[0].target): editor.code(a.value) for a in find(forward.body, cst.Assign)}
    run = [editor.code(call) for call in find(forward.body, cst.Call) if kept.get(editor.code(call.func)) == function]
    inputs = [target for target, text in kept.items() if text in _first(values, number)]
    if len(run) != 1 or not any(run[0].endswith(f"(*{target})") for target in inputs):
        raise Refuse("its forward does not run the function with the first of what it gets")
    if not all(target.startswith(f"{context}.") or text == run[0] for target, text in kept.items()):
        raise Refuse("its forward computes more than the function gives")
    returned = [node.value for node in find(backward.body, cst.Return) if node.value is not None]
    if [editor.code(value.left) for value in returned if isinstance(value, cst.BinaryOperation)] != ["(None, None)"]:
        raise Refuse("its backward does not return the gradients of what the function got")


def _first(values: str, number: str) -> tuple[str, ...]:
    """How the first ``number`` of ``values`` are written."""
    return f"list({values}[:{number}])", f"{values}[:{number}]", f"tuple({values}[:{number}])"


def _arguments(call: cst.Call, editor: Editor) -> tuple[str, str, tuple[Edit, ...]]:
    """The function, its inputs, and the edits that take away what only held inputs and parameters."""
    unfit = Refuse("it is not called with a function, the number of its inputs, the inputs, and parameters")
    if len(call.args) < 3 or any(a.keyword is not None for a in call.args) or any(a.star for a in call.args[:2]):
        raise unfit
    function, number, first, *others = (argument.value for argument in call.args)
    counted = number.args[0].value if isinstance(number, cst.Call) and called(number) == "len" else None
    if not isinstance(counted, cst.Name) or call.args[2].star != "*":
        raise unfit
    edits: tuple[Edit, ...] = ()
    held = assigned(first, editor) if not others else None
    if held is not None:
        statement = editor.parent(held)
        if not isinstance(statement, cst.Assign) or len(uses(statement, editor)) != 1:
            raise unfit
        edits, first = (editor.delete(statement),), held
    if isinstance(first, cst.BinaryOperation) and isinstance(first.operator, cst.Add):
        first = first.left
    if editor.code(first) not in (counted.value, f"tuple({counted.value})", f"list({counted.value})"):
        raise unfit
    return editor.code(function), counted.value, edits
