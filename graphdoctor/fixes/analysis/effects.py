"""Whether computing the arguments of a call leaves a trace, so that leaving the call out would lose something.

Needed where a call is left out under compile: ``print(x.mean())`` may go, ``print(next(batches))`` takes an item away.
What a call inside the arguments runs is what the interpreter found it to be; what it does not know counts as a trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.quiet_calls import BY_NAME, BY_TEXT, defines, is_new, is_plain, is_quiet, runs_code
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.events import ArgumentCall
from graphdoctor.static.domain.values import Value
from graphdoctor.syntax.walk import walk

#: Methods by which an index, a test or an operator runs code of a class.
_BY_INDEX = ("__getitem__", "__missing__", "defaultdict")
_BY_TRUTH = ("__bool__",)
_BY_HASH = ("__hash__", "__eq__")
_BY_OPERATOR = re.compile(
    r"__(?<!\w__)([ri]?(add|sub|mul|matmul|truediv|floordiv|mod|pow|and|or|xor|[lr]shift)"
    r"|neg|pos|invert|eq|ne|lt|le|gt|ge|contains|hash)__"
)
_Known = dict[int, ArgumentCall]


def trace(code: Sequence[cst.CSTNode], values: Sequence[Value], inner: Sequence[ArgumentCall], editor: Editor) -> str:
    """What in ``code`` may leave a trace when it is evaluated; empty when nothing does.

    ``values`` are those that are shown as text, ``inner`` what is known of the calls.
    """
    if any(runs_code(value, BY_TEXT, editor) for value in values):
        return ", ".join(editor.code(node.value if isinstance(node, cst.Arg) else node) for node in code)
    known = {id(call.node): call for call in inner}
    nodes = (node for part in code for node in walk(part))
    return next((editor.code(t) for node in nodes if (t := _traced(node, known, editor)) is not None), "")


def _traced(node: cst.CSTNode, known: _Known, editor: Editor) -> cst.CSTNode | None:
    """``node``, or the part of it that may leave a trace, without what the nodes below do."""
    if isinstance(node, cst.Call):
        return _call(node, known, editor)
    return _OTHERS[type(node)](node, editor) if type(node) in _OTHERS else None


def _call(node: cst.Call, known: _Known, editor: Editor) -> cst.CSTNode | None:
    call = known.get(id(node))
    is_silent = is_quiet(call, editor) if call is not None else is_plain(node, editor)
    return node if not is_silent or (called(node) == "format" and defines(BY_TEXT, editor)) else None


def _attribute(node: cst.Attribute, editor: Editor) -> cst.CSTNode | None:
    is_property = not _is_called(node, editor) and editor.defines_function(node.attr.value)
    return node if is_property or defines(BY_NAME, editor) else None


def _subscript(node: cst.Subscript, editor: Editor) -> cst.CSTNode | None:
    return node if defines(_BY_INDEX, editor) and not _is_shape(node.value) else None


def _arithmetic(node: cst.BinaryOperation | cst.UnaryOperation, editor: Editor) -> cst.CSTNode | None:
    makes_text = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo)
    return node if editor.module.has(_BY_OPERATOR) or (makes_text and defines(BY_TEXT, editor)) else None


def _comparison(node: cst.Comparison, editor: Editor) -> cst.CSTNode | None:
    if editor.module.has(_BY_OPERATOR):
        return node
    searched = (part.comparator for part in node.comparisons if isinstance(part.operator, (cst.In, cst.NotIn)))
    return next((each for each in searched if not _lasts(each, editor)), None)


def _shown(node: cst.FormattedStringExpression, editor: Editor) -> cst.CSTNode | None:
    return node.expression if defines(BY_TEXT, editor) and not _is_shape(node.expression) else None


def _hashed(node: cst.CSTNode, editor: Editor) -> cst.CSTNode | None:
    return node if defines(_BY_HASH, editor) else None


def _tested(node: cst.CSTNode, editor: Editor) -> cst.CSTNode | None:
    return node if defines(_BY_TRUTH, editor) else None


def _loop(node: cst.CompFor, editor: Editor) -> cst.CSTNode | None:
    return None if _lasts(node.iter, editor) else node.iter


def _unpacked(node: cst.StarredElement | cst.Arg, editor: Editor) -> cst.CSTNode | None:
    is_iterated = isinstance(node, cst.StarredElement) or node.star == "*"
    return node.value if is_iterated and not _lasts(node.value, editor) else None


#: What evaluates a node and may leave a trace, beside calls.
_OTHERS: dict[type[cst.CSTNode], Callable[[Any, Editor], cst.CSTNode | None]] = {
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.BinaryOperation: _arithmetic,
    cst.UnaryOperation: _arithmetic,
    cst.Comparison: _comparison,
    cst.FormattedStringExpression: _shown,
    cst.CompFor: _loop,
    cst.StarredElement: _unpacked,
    cst.Arg: _unpacked,
    **dict.fromkeys((cst.Set, cst.Dict, cst.SetComp, cst.DictComp), _hashed),
    **dict.fromkeys((cst.IfExp, cst.BooleanOperation, cst.Not, cst.CompIf), _tested),
}


def _is_called(node: cst.Attribute, editor: Editor) -> bool:
    outer = editor.parent(node)
    return isinstance(outer, cst.Call) and outer.func is node


def _is_shape(node: cst.BaseExpression) -> bool:
    """``x.shape``, ``x.shape[0]``: nothing of a class of the file."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Attribute) and node.attr.value in ("shape", "dtype", "device", "ndim")


def _lasts(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether iterating over ``node`` leaves it as it was: a list is still there afterwards, an iterator is used up."""
    if isinstance(node, (cst.List, cst.Tuple, cst.Set, cst.Dict, cst.BaseComp, cst.SimpleString, cst.FormattedString)):
        return True
    if isinstance(node, cst.Call):
        return is_new(node)
    if _is_shape(node):
        return True
    function = editor.function_of(node)
    if not isinstance(node, cst.Name) or function is None:
        return False
    star = [p for p in (function.params.star_arg, function.params.star_kwarg) if isinstance(p, cst.Param)]
    bound = editor.assignments(function, node.value)
    if any(p.name.value == node.value for p in star):
        return not bound
    displays = (cst.List, cst.Tuple, cst.Set, cst.Dict, cst.ListComp, cst.SetComp, cst.DictComp)
    return bool(bound) and all(isinstance(b, cst.Assign) and isinstance(b.value, displays) for b in bound)
