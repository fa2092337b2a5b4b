"""Whether computing the arguments of a call leaves a trace, so that leaving the call out would lose something.

Needed where a call is left out under compile: ``print(x.mean())`` may go, ``print(next(batches))`` takes an item away.
What a call inside the arguments runs is what the interpreter found it to be; what it does not know counts as a trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
_HASHING = (cst.Set, cst.Dict, cst.SetComp, cst.DictComp)
_BY_OPERATOR = re.compile(
    r"__(?<!\w__)([ri]?(add|sub|mul|matmul|truediv|floordiv|mod|pow|and|or|xor|[lr]shift)"
    r"|neg|pos|invert|eq|ne|lt|le|gt|ge|contains|hash)__"
)
_Known = dict[int, ArgumentCall]
_OPERATORS = (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison)
_TRUTHS = (cst.IfExp, cst.BooleanOperation, cst.Not, cst.CompIf)


def trace(code: Sequence[cst.CSTNode], values: Sequence[Value], inner: Sequence[ArgumentCall], editor: Editor) -> str:
    """What in ``code`` may leave a trace when it is evaluated; empty when nothing does.

    ``values`` are those that are shown as text, ``inner`` what is known of the calls.
    """
    if any(runs_code(value, BY_TEXT, editor) for value in values):
        return ", ".join(editor.code(node.value if isinstance(node, cst.Arg) else node) for node in code)
    known = {id(call.node): call for call in inner}
    return next((editor.code(node) for node in _traces(code, known, editor)), "")


def _traces(code: Sequence[cst.CSTNode], known: _Known, editor: Editor) -> Iterator[cst.CSTNode]:
    for node in (n for part in code for n in walk(part)):
        if isinstance(node, cst.Call):
            call = known.get(id(node))
            computes = is_quiet(call, editor) if call is not None else is_plain(node, editor)
            if not computes or (called(node) == "format" and defines(BY_TEXT, editor)):
                yield node
        elif isinstance(node, cst.Attribute):
            is_property = not _is_called(node, editor) and editor.defines_function(node.attr.value)
            if is_property or defines(BY_NAME, editor):
                yield node
        elif isinstance(node, cst.Subscript):
            if defines(_BY_INDEX, editor) and not _is_shape(node.value):
                yield node
        elif isinstance(node, _OPERATORS):
            makes_text = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo)
            if editor.module.has(_BY_OPERATOR) or (makes_text and defines(BY_TEXT, editor)):
                yield node
            for part in node.comparisons if isinstance(node, cst.Comparison) else ():
                if isinstance(part.operator, (cst.In, cst.NotIn)) and not _lasts(part.comparator, editor):
                    yield part.comparator
        elif isinstance(node, _HASHING) and defines(_BY_HASH, editor):
            yield node
        elif isinstance(node, _TRUTHS):
            if defines(_BY_TRUTH, editor):
                yield node
        elif isinstance(node, cst.FormattedStringExpression):
            if defines(BY_TEXT, editor) and not _is_shape(node.expression):
                yield node.expression
        elif isinstance(node, (cst.CompFor, cst.StarredElement)) or (isinstance(node, cst.Arg) and node.star == "*"):
            over = node.iter if isinstance(node, cst.CompFor) else node.value
            if not _lasts(over, editor):
                yield over


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
