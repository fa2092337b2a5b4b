"""What a loop over experts goes over: all of them, or those that data names, which becomes a loop over all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.fixes.analysis.selected_rows import bound_once
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import bound_names, names, target_names
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import may_be_tensor
from graphdoctor.syntax.walk import find, walk

#: What makes a list of other elements: nothing in it says how many there are.
_LISTS = frozenset({"cpu", "flatten", "int", "item", "list", "long", "reshape", "sorted", "tolist", "view"})


@dataclass(frozen=True)
class Header:
    """The edits that make the loop one over all experts, and the expressions of its body that are its index then."""

    edits: tuple[Edit, ...] = ()
    index: tuple[cst.BaseExpression, ...] = ()


def header_of(loop: cst.For, function: cst.FunctionDef, editor: Editor) -> Header:
    """No edits where the loop goes over what is fixed. Raises Refuse where it does not fit."""
    found = _distinct(loop.iter, editor)
    if not found:
        if may_be_tensor(editor.value(loop.iter)) or any(
            called(c) in ("nonzero", "argwhere") for c in calls(loop.iter)
        ):
            raise Refuse(f"`{editor.code(loop.iter)}` is data, and how often the loop runs depends on it")
        return Header()
    if not isinstance(loop.target, cst.Name):
        raise Refuse("the loop binds more than the number of an expert")
    index = tuple(_numbers(loop, loop.target.value))
    edits = [editor.replace(loop.iter, f"range(len({_experts(loop, editor)}))")]
    if isinstance(loop.iter, cst.Name) and len(editor.mentions(function, loop.iter.value)) == 2:
        edits.append(editor.delete(editor.assignments(function, loop.iter.value)[0]))
    return Header(tuple(edits), index)


def names_experts(loop: cst.For, place: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``place`` is part of what is assigned to the name that the loop goes over."""
    value = bound_once(loop.iter, editor) if isinstance(loop.iter, cst.Name) else None
    return value is not None and place in set(walk(value))


def _distinct(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` has each expert once that data names: ``ids.unique()``, ``sorted(set(ids.tolist()))``."""
    if isinstance(node, cst.Name):
        value = bound_once(node, editor)
        return value is not None and _distinct(value, editor)
    if not isinstance(node, cst.Call):
        return False
    if called(node) in ("unique", "set"):
        return not any(a.keyword is not None and a.keyword.value.startswith("return_") for a in node.args)
    inner = node.args[0].value if isinstance(node.func, cst.Name) and len(node.args) == 1 else None
    if inner is None and isinstance(node.func, cst.Attribute):
        inner = node.func.value
    return called(node) in _LISTS and inner is not None and _distinct(inner, editor)


def _numbers(loop: cst.For, index: str) -> Iterator[cst.BaseExpression]:
    """``int(e.item())``, ``e.item()`` and ``int(e)`` in the body of the loop, outermost first."""
    for call in calls(loop.body):
        inner: cst.BaseExpression = call
        while isinstance(inner, cst.Call):
            is_int = isinstance(inner.func, cst.Name) and inner.func.value == "int" and len(inner.args) == 1
            is_item = isinstance(inner.func, cst.Attribute) and called(inner) == "item" and not inner.args
            if not is_int and not is_item:
                break
            inner = inner.args[0].value if is_int else inner.func.value  # type: ignore[attr-defined]
        if inner is not call and isinstance(inner, cst.Name) and inner.value == index:
            yield call


def _experts(loop: cst.For, editor: Editor) -> str:
    """``self.experts`` of ``self.experts[e]``, which has as many elements as there are experts."""
    assert isinstance(loop.target, cst.Name)
    read = set(_numbers(loop, loop.target.value))
    numbers = {loop.target.value}
    numbers |= {
        name for n in find(loop.body, cst.Assign) if n.value in read for name in target_names(n.targets[0].target)
    }
    bound = bound_names(loop)
    for node in find(loop.body, cst.Subscript):
        index = node.slice[0].slice
        if len(node.slice) != 1 or not isinstance(index, cst.Index) or not isinstance(node.value, cst.Attribute):
            continue
        is_number = isinstance(index.value, cst.Name) and index.value.value in numbers
        if (is_number or index.value in read) and not names(node.value) & bound:
            return editor.code(node.value)
    raise Refuse(f"the loop does not read one list of experts by `{loop.target.value}`")
