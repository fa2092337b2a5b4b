"""A numpy scalar that a constructor stores, which is array data to Dynamo wherever it is computed with."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.attribute_writes import in_constructor, writes
from graphdoctor.fixes.analysis.types import assigned
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = "The attribute holds the same number, as a Python number: numpy's own is array data to Dynamo."

#: Names in what other names are given.
_DEPTH = 6


def number_in_constructor(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``self.hop = np.prod(rates)`` becomes ``int(np.prod(rates))`` where ``x.shape[-1] / self.hop`` is the hit.

    Raises Refuse where the attribute is not set once, by the constructor.
    """
    edits = []
    for name, dtype in _read(hit.place, editor).items():
        written = list(writes(name, editor))
        value = written[0][1] if len(written) == 1 and in_constructor(written[0][0], editor) else None
        if value is None:
            raise Refuse(f"`{name}` is not shown to be set once, by the constructor")
        if isinstance(value, cst.Name) and not dtype:
            # It may be a Python number as well, which has no ``item``.
            raise Refuse(f"`{name}` is an argument of the constructor")
        if any(_is_read_of(node.value, name) for node in editor.every(cst.Attribute)):
            raise Refuse(f"`{name}` is also used where only a numpy number works")
        number = f"{dtype}({editor.code(value)})" if dtype else f"{editor.operand(value)}.item()"
        edits.append(editor.replace(value, number))
    if not edits:
        return Refusal("No attribute that holds a numpy scalar is read here.")
    return FixPlan(tuple(edits), "unsafe", _REASON)


def _read(place: cst.CSTNode, editor: Editor, depth: int = 0) -> dict[str, str]:
    """The attributes of ``self`` that hold a numpy scalar of eager code, in ``place`` and in what its names are given:
    "int", "float" or "" for each.
    """
    found: dict[str, str] = {}
    for node in walk(place):
        if isinstance(node, cst.Name) and depth < _DEPTH and not editor.is_label(node):
            given = assigned(node, editor)
            found |= _read(given, editor, depth + 1) if given is not None else {}
        if not isinstance(node, cst.Attribute):
            continue
        of_self = isinstance(node.value, cst.Name) and node.value.value == "self"
        value = editor.value(node) if of_self else None
        if isinstance(value, Tensor) and value.numpy and value.ndim == 0 and value.argument and value.constant:
            found[node.attr.value] = value.dtype if value.dtype in ("int", "float") else ""
    return found


def _is_read_of(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == name
