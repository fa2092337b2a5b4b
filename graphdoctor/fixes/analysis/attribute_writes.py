"""Where a file writes to an attribute, by assignment, unpacking, a loop or a method such as ``copy_``."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor

#: Methods that write their argument into the tensor.
_WRITES = ("copy_", "fill_")


def in_constructor(node: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``node`` stands in an ``__init__``."""
    function = editor.function_of(node)
    return function is not None and function.name.value == "__init__"


def writes(name: str, editor: Editor) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression | None]]:
    """Each place in the file that writes to an attribute of that name, and the value; None for an unknown one."""
    for assign in editor.every(cst.Assign):
        targets = [target.target for target in assign.targets]
        if any(_is_attribute(target, name) for target in targets):
            yield assign, assign.value
        elif any(_is_attribute(part, name) for target in targets for part in _unpacked(target)):
            yield assign, None
    for annotated in editor.every(cst.AnnAssign):
        if annotated.value is not None and _is_attribute(annotated.target, name):
            yield annotated, annotated.value
    for loop in editor.every(cst.For):
        if any(_is_attribute(part, name) for part in _unpacked(loop.target)):
            yield loop, None
    for augmented in editor.every(cst.AugAssign):
        if _is_attribute(augmented.target, name):
            yield augmented, None
    for call in editor.every(cst.Call):
        method = called(call)
        if isinstance(call.func, cst.Attribute) and method.endswith("_") and _is_attribute(call.func.value, name):
            yield call, call.args[0].value if method in _WRITES and len(call.args) == 1 else None


def _unpacked(target: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The targets in ``a, (b, *c)``."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _unpacked(element.value)
    else:
        yield target


def _is_attribute(node: cst.BaseExpression, name: str) -> bool:
    """``self.name``, ``self.name.data`` and ``self.name[...]``."""
    while isinstance(node, cst.Subscript) or (isinstance(node, cst.Attribute) and node.attr.value == "data"):
        node = node.value
    return isinstance(node, cst.Attribute) and node.attr.value == name
