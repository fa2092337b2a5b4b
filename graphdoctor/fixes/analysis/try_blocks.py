"""Code in a ``try``: what fails inside a graph is raised when the graph runs, where no handler of the code sees it."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls, words
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.syntax.walk import find

#: Exceptions that no check of data raises.
_OTHER = words("ImportError KeyboardInterrupt ModuleNotFoundError")


def unhandled(place: cst.CSTNode, editor: Editor) -> None:
    """Refuse a ``place`` in the body of a ``try`` with handlers: in its function, or where the file calls that one."""
    inner = place
    for outer in editor.ancestors(place):
        if isinstance(outer, (cst.Try, cst.TryStar)) and outer.body is inner and outer.handlers:
            raise Refuse("it stands in a try, whose handlers do not see what fails inside the graph")
        if isinstance(outer, cst.FunctionDef):
            _not_called_in_try(outer, editor)
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            return
        inner = outer


def _not_called_in_try(function: cst.FunctionDef, editor: Editor) -> None:
    """Refuse a function that the body of a ``try`` with handlers calls."""
    name = function.name.value
    blocks: list[cst.Try | cst.TryStar] = [*editor.every(cst.Try), *editor.every(cst.TryStar)]
    for block in blocks:
        called_in = [call for call in calls(block.body) if called(call) == name] if _handles(block) else []
        # In the function itself, ``super().forward(x)`` is the method that it overrides.
        if called_in and editor.function_of(block) is function:
            called_in = [call for call in called_in if not _is_of_base(call)]
        if called_in:
            raise Refuse(f"`{name}` is called in a try, whose handlers do not see what fails inside the graph")


def _is_of_base(call: cst.Call) -> bool:
    """Whether a method of ``super()`` is called."""
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    return isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Name) and receiver.func.value == "super"


def _handles(block: cst.Try | cst.TryStar) -> bool:
    """Whether a handler of ``block`` may see what a check of data raises."""
    return any(h.type is None or not {n.value for n in find(h.type, cst.Name)} <= _OTHER for h in block.handlers)
