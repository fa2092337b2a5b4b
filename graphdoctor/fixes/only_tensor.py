"""Values that are a tensor on one path and a Python value on another: what is right for one is wrong for the other.

``ok = x.isfinite().all() if check else True``: ``~True`` is -2, and a bool has no ``all()``.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.errors import Refuse
from graphdoctor.fixes.purity import words
from graphdoctor.fixes.scope import parameters
from graphdoctor.static.values import Value, is_tensor, may_be_tensor

#: Builtins that give a Python value whatever they are given.
_PYTHON_CALLS = words("all any callable hasattr isinstance issubclass len")


def only_tensor(node: cst.BaseExpression, value: Value, editor: Editor) -> None:
    """Refuse a tensor ``node`` that may also be a Python value, by what the static pass or the source says of it.

    A sample decides flags, so ``value`` may know one path only; the source has all of them.
    """
    if may_be_tensor(value) and (not is_tensor(value) or _may_be_python(node, editor)):
        raise Refuse(f"`{editor.code(node)}` may also be a Python value, such as a bool, which a tensor cannot replace")


def _may_be_python(node: cst.BaseExpression, editor: Editor, depth: int = 0) -> bool:
    """True when one of the values that the source gives to ``node`` is a Python one. None is not: code tests for it."""
    if depth > 8:
        return False
    if isinstance(node, (cst.Integer, cst.Float, cst.BaseString)):
        return True
    if isinstance(node, cst.Name):
        return node.value in ("True", "False") or any(
            _may_be_python(v, editor, depth + 1) for v in _given(node, editor)
        )
    if isinstance(node, cst.IfExp):
        return _may_be_python(node.body, editor, depth + 1) or _may_be_python(node.orelse, editor, depth + 1)
    if isinstance(node, cst.BooleanOperation):
        return _may_be_python(node.left, editor, depth + 1) or _may_be_python(node.right, editor, depth + 1)
    if isinstance(node, cst.Comparison):
        return isinstance(node.comparisons[0].operator, (cst.Is, cst.IsNot))
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in _PYTHON_CALLS


def _given(name: cst.Name, editor: Editor) -> list[cst.BaseExpression]:
    """What the function gives to ``name``: in plain assignments, and as the default of an argument."""
    function = editor.function_of(name)
    if function is None:
        return []
    bound = [b for b in editor.assignments(function, name.value) if isinstance(b, cst.Assign)]
    given = [b.value for b in bound if any(isinstance(t.target, cst.Name) for t in b.targets)]
    default = parameters(function).get(name.value)
    return given if default is None else [*given, default]
