"""Numbers that are read from tensors for nothing but to bound spans that are written: they stay tensors.

``for i, n in enumerate(lengths.tolist()): mask[i, :n] = 1`` goes over ``lengths`` itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.forms.filled_spans import filled, written_at
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = "Each position is compared with the bounds, which stay tensors; what is written is the same."


def keep_bounds(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``n = lengths[i].item()``, ``int(lengths[i])`` and loops over ``lengths.tolist()``.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    read = _read(call) if isinstance(call, cst.Call) else None
    if not isinstance(call, cst.Call) or read is None:
        return Refusal("No number is read here.")
    user = editor.parent(call)
    if isinstance(user, cst.Assign) and called(call) != "tolist":
        bounds: Sequence[cst.CSTNode] = uses(user, editor)
    elif called(call) == "tolist":
        bounds = _of_loop(call, editor)
    else:
        return Refusal("The number gets no name.")
    writes = [written_at(bound, editor) for bound in bounds]
    spans = list(dict.fromkeys(write for write in writes if write is not None))
    if not spans or None in writes:
        raise Refuse("the number does not only bound spans that are written")
    known = tensor_of(editor.value(read))
    if known is None or known.dtype != "int":
        raise Refuse(f"`{editor.code(read)}` is not shown to hold whole numbers")
    edits = [*editor.torch_import(call), editor.replace(call, editor.code(read))]
    return FixPlan((*edits, *(filled(span, editor) for span in spans)), "unsafe", _REASON)


def _read(call: cst.Call) -> cst.BaseExpression | None:
    """The tensor that is read: ``t`` of ``t.item()``, ``t.tolist()`` and ``int(t)``."""
    if isinstance(call.func, cst.Attribute) and called(call) in ("item", "tolist") and not call.args:
        return call.func.value
    is_int = isinstance(call.func, cst.Name) and call.func.value == "int" and len(call.args) == 1
    return call.args[0].value if is_int else None


def _of_loop(call: cst.Call, editor: Editor) -> Sequence[cst.CSTNode]:
    """What reads the numbers of the list in the loop over it. Raises Refuse where they go elsewhere."""
    argument, position = editor.parent(call), -1
    loop: cst.CSTNode | None = argument
    if isinstance(argument, cst.Arg):
        over = editor.parent(argument)
        loop = editor.parent(over) if over is not None else None
        if isinstance(over, cst.Call) and called(over) == "enumerate" and len(over.args) == 1:
            position = 1
        elif isinstance(over, cst.Call) and called(over) == "zip":
            position = over.args.index(argument)
    if not isinstance(loop, cst.For) or (isinstance(argument, cst.Arg) and position < 0):
        raise Refuse("the list is not what a loop goes over")
    target: cst.BaseExpression = loop.target
    if position >= 0:
        parts = target.elements if isinstance(target, cst.Tuple) else ()
        target = parts[position].value if position < len(parts) else loop.target
    function = editor.function_of(loop)
    if not isinstance(target, cst.Name) or function is None or len(editor.assignments(function, target.value)) != 1:
        raise Refuse("the numbers have no name of their own")
    inside = set(walk(loop.body))
    read = [n for n in editor.mentions(function, target.value) if n is not target and not editor.is_label(n)]
    if not all(node in inside for node in read):
        raise Refuse("the numbers have no name of their own")
    return read
