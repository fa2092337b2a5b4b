"""Masks that are made of sizes alone: the diagonal of a matrix, all but the diagonal, and triangles.

Which elements they select does not depend on data, so their positions can be told by slices and indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, is_pure, is_torch_function, words
from graphdoctor.fixes.analysis.types import latest
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.proof.aliasing import is_changed_in
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.syntax.walk import find

Kind = Literal["ones", "zeros", "diagonal", "others", "upper", "lower"]
_NEGATED: dict[Kind, Kind] = {
    "ones": "zeros",
    "zeros": "ones",
    "diagonal": "others",
    "others": "diagonal",
    "upper": "lower",
    "lower": "upper",
}
_FILLS: dict[str, Kind] = {"ones": "ones", "zeros": "zeros", "ones_like": "ones", "zeros_like": "zeros"}
_SAME_DTYPE = words("clone contiguous cpu cuda detach")
#: Methods that surely give something else than the tensor or a view of it.
_NEW = words("all any clone count_nonzero logical_not nonzero numel size sum")
#: Methods that keep which elements are true.
_KEEPING = _SAME_DTYPE | words("bool byte float int long to type")


@dataclass(frozen=True)
class Triangle:
    """Which elements of a matrix are 1, or true: ``upper`` are those on the diagonal ``offset`` and above it."""

    kind: Kind
    offset: int = 0
    is_square: bool = False
    is_bool: bool = False

    def negated(self) -> Triangle:
        """The mask of the other elements."""
        moved = {"upper": -1, "lower": 1}.get(self.kind, 0)
        return replace(self, kind=_NEGATED[self.kind], offset=self.offset + moved)


def triangle(mask: cst.BaseExpression, editor: Editor) -> Triangle | None:
    """What ``mask`` is made of, through the assignments of the function; None where it may depend on anything else."""
    if isinstance(mask, cst.Name):
        return _named(mask, editor)
    if isinstance(mask, cst.UnaryOperation) and isinstance(mask.operator, cst.BitInvert):
        inner = triangle(mask.expression, editor)
        return inner.negated() if inner is not None and inner.is_bool else None
    if isinstance(mask, cst.Comparison) and len(mask.comparisons) == 1:
        return _compared(mask, editor)
    if isinstance(mask, cst.BinaryOperation) and isinstance(mask.operator, cst.Subtract):
        is_one = editor.code(mask.left) in ("1", "1.0")
        left = Triangle("ones") if is_one else triangle(mask.left, editor)
        right = triangle(mask.right, editor)
        # A matrix of one element would be widened to the size of the other.
        fits = is_one or _have_one_size(mask.left, mask.right, editor)
        return right.negated() if left is not None and left.kind == "ones" and right is not None and fits else None
    if not isinstance(mask, cst.Call):
        return None
    return _made(mask, editor) if is_torch_function(mask, editor) else _changed(mask, editor)


def _named(name: cst.Name, editor: Editor) -> Triangle | None:
    value = latest(name, editor)
    made = triangle(value, editor) if value is not None else None
    changes = _changes(name, editor) if made is not None else None
    if made is None or value is None or changes is None:
        return None
    if not changes or changes == [value]:
        return made
    # ``mask.fill_diagonal_(False)`` on the line behind the one that makes it.
    change, line = changes[0], editor.parent(editor.statement_of(value))
    is_next = line is not None and editor.parent(editor.statement_of(change)) is editor.following(line)
    if len(changes) == 1 and is_next and isinstance(change, cst.Call) and called(change) == "fill_diagonal_":
        return _filled(made, change, editor)
    return None


def _changes(name: cst.Name, editor: Editor) -> Sequence[cst.CSTNode] | None:
    """What changes the tensor ``name`` in place in its function; None where other code may change it."""
    function = editor.function_of(name)
    if function is None:
        return None
    if not all(_only_reads(node, editor) for node in find(function, cst.Name) if node.value == name.value):
        return None
    writers = (*find(function, cst.Call), *find(function, cst.AssignTarget), *find(function, cst.AugAssign))
    return [node for node in writers if is_changed_in(node, name.value, editor)]


def _only_reads(name: cst.Name, editor: Editor) -> bool:
    """False where what uses ``name`` may keep the tensor under another name, or hand it to code that changes it."""
    node: cst.CSTNode = name
    user = editor.parent(node)
    while isinstance(user, (cst.Attribute, cst.Subscript)) or (isinstance(user, cst.Call) and user.func is node):
        node, user = user, editor.parent(user)
    if isinstance(user, cst.Arg):
        call = editor.parent(user)
        return isinstance(call, cst.Call) and is_pure(call, editor, python=True)
    if isinstance(user, cst.Assign):
        is_new = isinstance(node, cst.Call) and called(node) in _NEW
        return is_new or [editor.code(target.target) for target in user.targets] == [name.value]
    computes = (cst.UnaryOperation, cst.Comparison, cst.ComparisonTarget, cst.BinaryOperation, cst.AugAssign)
    return isinstance(user, (*computes, cst.Index, cst.AssignTarget, cst.Expr))


def _compared(mask: cst.Comparison, editor: Editor) -> Triangle | None:
    """``torch.eye(n) == 0``."""
    against, inner = mask.comparisons[0], triangle(mask.left, editor)
    text = f"{type(against.operator).__name__} {editor.code(against.comparator)}"
    if inner is None:
        return None
    inner = replace(inner, is_bool=True)
    if text in ("Equal 1", "NotEqual 0", "GreaterThan 0", "Equal True", "NotEqual False"):
        return inner
    return inner.negated() if text in ("Equal 0", "NotEqual 1", "LessThan 1", "Equal False", "NotEqual True") else None


def _made(call: cst.Call, editor: Editor) -> Triangle | None:
    """A function of torch: ``torch.eye(n)``, ``torch.triu(torch.ones(n, n), 1)``."""
    name = called(call)
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    plain = [a.value for a in call.args if a.keyword is None and not a.star]
    if len(plain) + len(given) != len(call.args) or not plain:
        return None
    is_bool = "dtype" in given and editor.code(given["dtype"]) in ("bool", "torch.bool")
    if name == "eye":
        return Triangle("diagonal", 0, len(plain) == 1 or _are_equal(plain, editor), is_bool)
    if name in ("ones", "zeros"):
        sizes = [e.value for e in plain[0].elements] if isinstance(plain[0], (cst.Tuple, cst.List)) else plain
        return Triangle(_FILLS[name], 0, _are_equal(sizes, editor), is_bool) if len(sizes) == 2 else None
    if name in _FILLS:
        # Of more dimensions it is a triangle in each matrix of a batch.
        like = tensor_of(editor.value(plain[0]))
        return Triangle(_FILLS[name], 0, False, is_bool) if like is not None and like.ndim == 2 else None
    if name == "logical_not" and (inner := triangle(plain[0], editor)) is not None:
        return replace(inner.negated(), is_bool=True)
    return _cut(call, plain[0], plain[1:], given, editor)


def _changed(call: cst.Call, editor: Editor) -> Triangle | None:
    """A method of a mask: ``mask.bool()``, ``torch.ones(n, n).triu(1)``, ``mask.fill_diagonal_(0)``."""
    if not isinstance(call.func, cst.Attribute):
        return None
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    plain = [a.value for a in call.args if a.keyword is None and not a.star]
    if called(call) == "fill_diagonal_":
        owner = call.func.value
        before = latest(owner, editor) if isinstance(owner, cst.Name) else owner
        if before is None or (isinstance(owner, cst.Name) and _changes(owner, editor) != [call]):
            return None
        return _filled(triangle(before, editor), call, editor)
    inner = triangle(call.func.value, editor)
    if inner is None:
        return None
    if called(call) == "logical_not":
        return replace(inner.negated(), is_bool=True)
    if called(call) in _KEEPING:
        given_to = [editor.code(value) for value in (*plain, *given.values())]
        is_moved = called(call) == "to" and all(text.endswith("device") or text[:1] in "\"'" for text in given_to)
        becomes_bool = called(call) == "bool" or not {"bool", "torch.bool"}.isdisjoint(given_to)
        keeps_dtype = called(call) in _SAME_DTYPE or is_moved
        return replace(inner, is_bool=becomes_bool or (keeps_dtype and inner.is_bool))
    return _cut(call, call.func.value, plain, given, editor)


def _cut(
    call: cst.Call,
    tensor: cst.BaseExpression,
    plain: Sequence[cst.BaseExpression],
    given: dict[str, cst.BaseExpression],
    editor: Editor,
) -> Triangle | None:
    """``triu`` and ``tril`` of ones."""
    inner = triangle(tensor, editor)
    if called(call) not in ("triu", "tril") or inner is None or inner.kind != "ones" or len(plain) + len(given) > 1:
        return None
    offset = _number(given["diagonal"] if "diagonal" in given else plain[0] if plain else cst.Integer("0"), editor)
    if offset is None or set(given) - {"diagonal"}:
        return None
    return replace(inner, kind="upper" if called(call) == "triu" else "lower", offset=offset)


def _filled(made: Triangle | None, call: cst.Call, editor: Editor) -> Triangle | None:
    """``fill_diagonal_(0)`` of ones, ``fill_diagonal_(1)`` of zeros."""
    value = editor.code(call.args[0].value) if len(call.args) == 1 else ""
    if made is not None and made.kind == "ones" and value in ("0", "False"):
        return replace(made, kind="others")
    return (
        replace(made, kind="diagonal") if made is not None and made.kind == "zeros" and value in ("1", "True") else None
    )


def _have_one_size(one: cst.BaseExpression, other: cst.BaseExpression, editor: Editor) -> bool:
    """Whether two calls that make square matrices are given one size."""
    if not isinstance(one, cst.Call) or not isinstance(other, cst.Call):
        return False
    return _are_equal([a.value for call in (one, other) for a in call.args if a.keyword is None], editor)


def _are_equal(sizes: Sequence[cst.BaseExpression], editor: Editor) -> bool:
    return len({editor.code(size) for size in sizes}) == 1


def _number(node: cst.BaseExpression, editor: Editor) -> int | None:
    text = editor.code(node).replace(" ", "")
    return int(text) if text.removeprefix("-").isdecimal() else None
