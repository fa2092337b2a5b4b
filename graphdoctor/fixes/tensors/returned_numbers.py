"""A helper that returns a number of a tensor, and all code that calls it: it returns the tensor instead.

What other files may call keeps its name and its number: ``def energy(self, x): return self._energy_tensor(x).item()``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.model.findings import Edit
from graphdoctor.syntax.walk import find, walk

RETURNED = "the caller gets a Python number; return the tensor and convert it outside the compiled code"
#: Functions and methods that convert a tensor to a number and do nothing else.
_CONVERTS = frozenset({"bool", "float", "int", "item"})


@dataclass(frozen=True)
class Helper:
    """The calls, how each is written from now on, and the edits of the function itself."""

    calls: Sequence[tuple[cst.Call, str]]
    edits: Sequence[Edit]


def helper_of(value: cst.BaseExpression, number: cst.CSTNode, editor: Editor) -> Helper:
    """The function that returns ``value``; ``number`` is what reads the tensor. Raises Refuse where it does not fit."""
    function = editor.function_of(value)
    around = editor.parent(editor.parent(function) or function) if function is not None else None
    if function is None or (not isinstance(around, (cst.ClassDef, cst.Module)) and editor.parent(function) is None):
        raise Refuse(RETURNED)
    owner = around if isinstance(around, cst.ClassDef) else None
    is_plain = (
        not function.decorators and function.asynchronous is None and isinstance(function.body, cst.IndentedBlock)
    )
    returns = list(find(function, cst.Return))
    if len(returns) != 1 or not is_plain or any(isinstance(n, (cst.Yield, cst.Lambda)) for n in walk(function)):
        raise Refuse(RETURNED)
    calls = _calls(function, owner, editor)
    name = function.name.value
    edits: list[Edit] = []
    if name.startswith("_") and not name.endswith("__"):
        if function.returns is not None:
            edits.append(_without_annotation(function, editor))
        return Helper([(call, editor.code(call)) for call in calls], edits)
    # Under its name it still converts. A function of `math` computes more, and others may give it numbers.
    if value is not number or not isinstance(number, cst.Call) or called(number) not in _CONVERTS:
        raise Refuse(RETURNED)
    new = editor.fresh(f"_{name}_tensor")
    edits += _wrapper(function, owner, number, new, editor)
    text = f"self.{new}" if owner is not None else new
    return Helper([(c, f"{text}({', '.join(editor.code(a).rstrip(', ') for a in c.args)})") for c in calls], edits)


def _calls(function: cst.FunctionDef, owner: cst.ClassDef | None, editor: Editor) -> Sequence[cst.Call]:
    """All calls of ``function`` in the file. Refuses where its name is used in another way, or stands for more."""
    name = function.name.value
    if sum(f.name.value == name for f in editor.every(cst.FunctionDef)) != 1 or name == "forward":
        raise Refuse(RETURNED)
    text = f"self.{name}" if owner is not None else name
    called_so = (call for call in editor.every(cst.Call) if editor.code(call.func) == text)
    found = [call for read in called_so if isinstance(call := editor.module.of(read), cst.Call)]
    mentioned = sum(node.value == name for node in editor.every(cst.Name))
    if not found or mentioned != len(found) + 1 or any(a.star for call in found for a in call.args):
        raise Refuse(RETURNED)
    if owner is not None and any(_class_of(call, editor) is not owner for call in found):
        raise Refuse(RETURNED)
    return found


def _class_of(node: cst.CSTNode, editor: Editor) -> cst.ClassDef | None:
    return next((n for n in editor.ancestors(node) if isinstance(n, cst.ClassDef)), None)


def _without_annotation(function: cst.FunctionDef, editor: Editor) -> Edit:
    """``-> float`` goes: it is a tensor now."""
    returns = function.returns
    assert returns is not None
    place, lines = editor.location(returns.annotation), editor.module.text.split(editor.newline)
    before = lines[place.line - 1][: place.column - 1]
    start = before.rfind(")")
    if start < 0:
        raise Refuse(RETURNED)
    return Edit(editor.path, (place.line, start + 2), (place.end_line, place.end_column), "")


def _wrapper(
    function: cst.FunctionDef, owner: cst.ClassDef | None, number: cst.Call, new: str, editor: Editor
) -> Sequence[Edit]:
    """``function`` under its name, which calls ``new`` and reads the number."""
    params = function.params
    more = (params.star_arg, params.star_kwarg, *params.posonly_params, *params.kwonly_params)
    if any(isinstance(p, cst.Param) for p in more):
        raise Refuse(RETURNED)
    given = [p.name.value for p in params.params][owner is not None :]
    call = f"{'self.' if owner is not None else ''}{new}({', '.join(given)})"
    text = f"{call}.item()" if called(number) == "item" else f"{called(number)}({call})"
    place, body = editor.location(function), editor.location(function.body.body[0])
    lines = editor.module.text.split(editor.newline)[place.line - 1 : body.line]
    if body.line == place.line:
        raise Refuse(RETURNED)
    indent = " " * (place.column - 1)
    head = lines[:-1]
    end = next(i for i, line in enumerate(head) if line.rstrip().endswith(":"))
    first = editor.newline.join(head[: end + 1]).lstrip()
    blank = editor.newline * (2 if owner is not None else 3)
    text = first + editor.newline + indent + editor.indent + f"return {text}" + blank + indent
    edits = [editor.insert_before(function, text), editor.replace(function.name, new)]
    if function.returns is not None:
        edits.append(_without_annotation(function, editor))
    return edits
