"""Statements of a side that write into something that exists already: a tensor, a part of it, a buffer, a counter."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import PURE, called, root, words
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.loop_steps import is_place
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.static.domain.value_functions import is_tensor
from graphdoctor.static.domain.values import Tensor
from graphdoctor.syntax.walk import walk

#: The values that methods write, as code of their receivers and arguments.
_WRITERS = {"zero_": "torch.zeros_like({t})", "fill_": "{a}", "copy_": "{a}"}
#: The operators of ``n += 1`` and the like.
_NODES: dict[type[cst.BaseAugOp], type[cst.BaseBinaryOp]] = {
    cst.AddAssign: cst.Add, cst.SubtractAssign: cst.Subtract, cst.MultiplyAssign: cst.Multiply,
    cst.DivideAssign: cst.Divide,
}  # fmt: skip
#: Functions that make a new tensor, on a device of its own.
_MADE = words("eye full ones tensor zeros")
_SYMBOLS: dict[type[cst.BaseAugOp], str] = {
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
}  # fmt: skip


def in_place_value(statement: cst.Expr, editor: Editor) -> tuple[str, str] | None:
    """``y`` and ``y.clamp(0, 1)`` of ``y.clamp_(0, 1)``; None where it is no method of a tensor that has a twin."""
    call = statement.value
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or any(a.star for a in call.args):
        return None
    target, name = call.func.value, called(call)
    if isinstance(target, cst.Call):
        return _chain(call, editor)
    is_name = isinstance(target, cst.Name) or root(target) == "self"
    if not is_name or not isinstance(target, (cst.Name, cst.Attribute)) or not _is_sure(target, editor):
        return None
    arguments = ", ".join(editor.module.code(a.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for a in call.args)
    if name in _WRITERS and len(call.args) == _WRITERS[name].count("{a}"):
        if name == "copy_" and isinstance(call.args[0].value, cst.Call) and called(call.args[0].value) in _MADE:
            # A copy may come from another device, and of another dtype; a choice may not.
            arguments = f"{arguments}.to({editor.code(target)})"
        return editor.code(target), _WRITERS[name].format(t=editor.code(target), a=arguments)
    twin = name.removesuffix("_")
    if twin == name or twin not in PURE:
        return None
    # A copy, because a gradient may need the tensor that is overwritten.
    return editor.code(target), f"{editor.code(target)}.clone().{twin}({arguments})"


def _chain(call: cst.Call, editor: Editor) -> tuple[str, str] | None:
    """``y`` and ``y.clone().mul(2).add(x)`` of ``y.mul_(2).add_(x)``."""
    text, node = "", call
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        twin = called(node).removesuffix("_")
        if twin == called(node) or twin not in PURE or any(a.star for a in node.args):
            return None
        arguments = (editor.module.code(a.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for a in node.args)
        text, node = f".{twin}({', '.join(arguments)}){text}", node.func.value  # type: ignore[assignment]
    if not isinstance(node, (cst.Name, cst.Attribute)) or not _is_sure(node, editor):
        return None
    return editor.code(node), f"{editor.code(node)}.clone(){text}"


def stored_value(statement: cst.CSTNode, editor: Editor) -> tuple[str, str] | None:
    """``y[0]`` and the value of ``y[0] = value`` or ``y[0] += value``, ``self.total`` of a buffer that is added to."""
    target, value = _target(statement)
    if isinstance(target, cst.Subscript):
        if not _is_sure(target.value, editor) or not all(_is_plain(e.slice, editor) for e in target.slice):
            return None
    elif (
        not isinstance(statement, cst.AugAssign)
        or not isinstance(target, cst.Attribute)
        or not _is_held(target, editor)
    ):
        return None
    if target is None or value is None:
        return None
    code = editor.code(target)
    if isinstance(statement, cst.AugAssign):
        symbol = _SYMBOLS.get(type(statement.operator))
        return (code, f"{code} {symbol} {_operand(value, editor)}") if symbol is not None else None
    return code, editor.code(value)


def is_own_store(statement: cst.CSTNode, block: cst.BaseSuite, editor: Editor) -> bool:
    """Whether ``part[m] = 0`` writes to a new tensor of ``block``, ``part = x.clone()``, which nothing has read yet.

    No other code sees the tensor, so it may be written in each call.
    """
    target, value = _target(statement)
    function = editor.function_of(statement)
    if not isinstance(statement, cst.Assign) or not isinstance(target, cst.Subscript) or value is None:
        return False
    owner = target.value
    if not isinstance(owner, cst.Name) or function is None:
        return False
    inside, here = set(walk(block)), editor.location(statement)
    made = [a for a in editor.assignments(function, owner.value) if a in inside]
    is_new = bool(made) and all(isinstance(a, cst.Assign) and _is_new(a.value, editor) for a in made)
    before = [u for u in editor.mentions(function, owner.value) if u in inside and editor.location(u) < here]
    if not is_new or editor.newline in editor.code(statement) or not branch_arms.is_local(owner.value, block, editor):
        return False
    branch_arms.check_calls(value, editor)
    for index in (part.slice.value for part in target.slice if isinstance(part.slice, cst.Index)):
        branch_arms.check_calls(index, editor)
    return all(_is_written(use, editor) for use in before) and owner.value not in names(value)


def _is_new(value: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``value`` calls a function of torch, or a method of a tensor, that gives a new tensor."""
    if not isinstance(value, cst.Call) or called(value) not in _NEW:
        return False
    is_method = isinstance(value.func, cst.Attribute) and is_tensor(editor.value(value.func.value))
    return is_method or dotted_name(value.func, editor) == f"torch.{called(value)}"


def _is_written(use: cst.Name, editor: Editor) -> bool:
    """Whether ``use`` is the target of an assignment, or the tensor of ``use[i] = v``."""
    outer = editor.parent(use)
    outer = editor.parent(outer) if isinstance(outer, cst.Subscript) and outer.value is use else outer
    return isinstance(outer, cst.AssignTarget)


#: Functions and methods that give a new tensor.
_NEW = words("all any clone full full_like new_full new_ones new_zeros ones ones_like zeros zeros_like")


def one_place(branch: cst.If, editor: Editor) -> tuple[str, str, str] | None:
    """``y[0]``, ``y[0] / 2`` and ``y[0] * 2`` of ``y[0] /= 2`` and, in the ``else``, ``y[0] *= 2``; None for others."""
    blocks = [branch.body, branch.orelse.body] if isinstance(branch.orelse, cst.Else) else []
    small = [list(branch_arms.statements(block)) for block in blocks]
    if not blocks or any(len(side) != 1 or not isinstance(side[0], cst.AugAssign) for side in small):
        return None
    one, other = (None if counts_in_python(side[0], editor) else stored_value(side[0], editor) for side in small)
    return (*one, other[1]) if one is not None and other is not None and one[0] == other[0] else None


def swapped_names(statement: cst.CSTNode, editor: Editor) -> Sequence[tuple[str, cst.BaseExpression]]:
    """The names and values of ``a, b = b, a``; empty for anything else."""
    target, value = _target(statement)
    if not isinstance(statement, cst.Assign) or not isinstance(target, cst.Tuple) or not isinstance(value, cst.Tuple):
        return ()
    names = [e.value for e in target.elements]
    if len(names) != len(value.elements) or not all(isinstance(name, cst.Name) for name in names):
        return ()
    if any(isinstance(e, cst.StarredElement) for e in (*target.elements, *value.elements)):
        return ()
    return [(editor.code(name), e.value) for name, e in zip(names, value.elements, strict=True)]


def assignments(statement: cst.CSTNode, editor: Editor) -> Sequence[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The targets and values of a statement, of ``a, b = x, y`` each for itself. Refuses any other."""
    pairs = swapped_names(statement, editor)
    return [(cst.Name(name), value) for name, value in pairs] if pairs else [_assignment(statement)]


def _assignment(statement: cst.CSTNode) -> tuple[cst.BaseExpression, cst.BaseExpression]:
    """The one target and the value of a statement. Refuses any other."""
    if isinstance(statement, cst.AugAssign):
        target, value = statement.target, statement.value
        operator = _NODES.get(type(statement.operator))
        if operator is None:
            raise Refuse("a side changes a value in place")
        tight_value = isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float))
        if not tight_value and not value.lpar:
            value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        value = cst.BinaryOperation(target, operator(), value)
    elif isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0].target, statement.value
    else:
        raise Refuse(f"a side {branch_arms.does(statement)} instead of assigning a name")
    is_own = isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and root(target) == "self"
    if not (is_own or isinstance(target, cst.Name)):
        raise Refuse("a side assigns to something other than one plain name")
    return target, value


def counts_in_python(statement: cst.CSTNode, editor: Editor) -> bool:
    """``self.bad += 1`` where the attribute is a Python number that nothing else in the function reads."""
    if not isinstance(statement, cst.AugAssign) or not isinstance(statement.target, cst.Attribute):
        return False
    target, function = statement.target, editor.function_of(statement)
    if root(target) != "self" or function is None or not is_number(statement.value, editor):
        return False
    only = all(n is target.attr for n in editor.mentions(function, target.attr.value))
    return only and is_number(target, editor)


def _operand(node: cst.BaseExpression, editor: Editor) -> str:
    return editor.code(node) if isinstance(node, (cst.Integer, cst.Float)) else editor.operand(node)


def _target(statement: cst.CSTNode) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
    if isinstance(statement, cst.AugAssign):
        return statement.target, statement.value
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        return statement.targets[0].target, statement.value
    return None, None


def _is_sure(node: cst.BaseExpression, editor: Editor) -> bool:
    value = editor.value(node)
    return isinstance(value, Tensor) and not value.numpy and not value.sparse


def _is_held(target: cst.Attribute, editor: Editor) -> bool:
    """A buffer of the module: what is added to it is added in place."""
    return root(target) == "self" and is_tensor(editor.value(target))


def _is_plain(index: cst.BaseSlice, editor: Editor) -> bool:
    """A slice, a number of Python, or a new dimension."""
    value = index.value if isinstance(index, cst.Index) else None
    is_none = isinstance(value, cst.Name) and value.value == "None"
    return isinstance(index, cst.Slice) or is_none or is_place(index, editor)
