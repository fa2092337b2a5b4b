"""Whether anything could show that a result no longer is, or no longer shares memory with, another tensor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.purity import words
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.proof.terms import ARITHMETIC, layers, operator_of
from graphdoctor.static.domain.values import External, TorchModule
from graphdoctor.syntax.walk import walk

#: Attributes and methods of tensors that give Python values.
_PYTHON = words("device dim dtype is_floating_point ndim numel requires_grad shape size")
#: Functions that neither keep nor change a tensor that they are given.
_READERS = frozenset(f"builtins.{name}" for name in words("bool float int isinstance len print range repr str")) | {
    "torch.compiler.is_compiling"
}
#: Layers that compute a new tensor and change nothing that they are given.
_NEW = layers("Bilinear Conv1d Conv2d Conv3d Embedding LayerNorm Linear")


def is_only_read(names: frozenset[str], branch: cst.CSTNode, editor: Editor) -> bool:
    """Whether the code after ``branch`` only computes new tensors from the plain ``names``, and changes nothing.

    Not in a loop, where what stands before the branch runs after it, too, nor where a nested function mentions a name.
    """
    function = editor.function_of(branch)
    if function is None or any(isinstance(outer, (cst.For, cst.While)) for outer in _up_to(branch, function, editor)):
        return False
    for nested in (*editor.every(cst.FunctionDef), *editor.every(cst.Lambda)):
        inside = function in editor.ancestors(nested)
        if inside and any(editor.mentions(nested, name) for name in names):
            return False
    return all(_is_harmless(node, names, editor) for statement in _after(branch, editor) for node in walk(statement))


def is_written(base: str, branch: cst.CSTNode, editor: Editor) -> bool:
    """Whether the function changes the tensor ``base`` in place: gradients may need it as it was, of either side."""
    function = editor.function_of(branch)
    return function is None or is_written_in(function, base, editor)


def is_written_in(scope: cst.CSTNode, base: str, editor: Editor) -> bool:
    """Whether code in ``scope`` changes the tensor ``base`` in place, or binds it together with other names."""
    return any(_writes(node, base, editor) for node in walk(scope))


def is_changed_in(scope: cst.CSTNode, base: str, editor: Editor) -> bool:
    """Whether code in ``scope`` changes the tensor ``base`` in place.

    Neither to give it as an argument nor to bind its name to something else is a change.
    """
    return any(_stands_for(n, base, editor) for node in walk(scope) for part in _changed(node) for n in walk(part))


def _changed(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The expressions whose tensor ``node`` changes: ``y`` of ``y.add_(1)``, ``y += 1`` and ``y[0] = 1``."""
    if type(node) is cst.Call:
        if isinstance(node.func, cst.Attribute) and node.func.attr.value.endswith("_"):
            yield node.func.value
        yield from (a.value for a in node.args if a.keyword is not None and a.keyword.value == "out")
    elif type(node) is cst.AugAssign:
        yield node.target
    elif type(node) is cst.AssignTarget:
        targets: list[cst.BaseExpression] = [node.target]
        if isinstance(node.target, (cst.Tuple, cst.List)):
            targets = [element.value for element in node.target.elements]
        yield from (t.value for t in targets if isinstance(t, (cst.Subscript, cst.Attribute)))


def _writes(node: cst.CSTNode, base: str, editor: Editor) -> bool:
    # A look at the type is ten times as fast as ``isinstance`` of libcst's abstract base classes.
    if type(node) is cst.Call:
        is_method = isinstance(node.func, cst.Attribute) and node.func.attr.value.endswith("_")
        is_result = any(a.keyword is not None and a.keyword.value == "out" for a in node.args)
        return (is_method or is_result) and any(_stands_for(n, base, editor) for n in walk(node))
    if type(node) is cst.AugAssign:
        return any(_stands_for(n, base, editor) for n in walk(node.target))
    if type(node) is cst.AssignTarget and not isinstance(node.target, cst.Name):
        return any(_stands_for(n, base, editor) for n in walk(node.target))
    return False


def _stands_for(node: cst.CSTNode, base: str, editor: Editor) -> bool:
    return isinstance(node, (cst.Name, cst.Attribute)) and editor.code(node) == base


def _up_to(node: cst.CSTNode, function: cst.FunctionDef, editor: Editor) -> Iterator[cst.CSTNode]:
    for outer in editor.ancestors(node):
        if outer is function:
            return
        yield outer


def _after(branch: cst.CSTNode, editor: Editor) -> Iterator[cst.CSTNode]:
    """What of the function runs behind the statement ``branch``."""
    inner: cst.CSTNode = branch
    for outer in editor.ancestors(branch):
        if isinstance(outer, cst.IndentedBlock):
            position = next(i for i, statement in enumerate(outer.body) if statement is inner)
            yield from outer.body[position + 1 :]
        if isinstance(outer, (cst.Try, cst.TryStar, cst.Match)):
            yield outer
        if isinstance(outer, cst.FunctionDef):
            return
        inner = outer


def _is_harmless(node: cst.CSTNode, names: frozenset[str], editor: Editor) -> bool:
    """False for what changes a value, or may do so, and for a use of one of ``names`` that could keep it."""
    if isinstance(node, (cst.AugAssign, cst.Del, cst.Try, cst.TryStar, cst.Match, cst.With, cst.NamedExpr, cst.Yield)):
        return False
    if isinstance(node, cst.AssignTarget):
        return isinstance(node.target, cst.Name)
    if isinstance(node, cst.Call):
        return _computes(node, editor)
    if isinstance(node, cst.Name) and node.value in names and not editor.is_label(node):
        return _is_read(node, editor)
    return True


def _is_read(name: cst.Name, editor: Editor) -> bool:
    user = editor.parent(name)
    if isinstance(user, (cst.BinaryOperation, cst.AssignTarget)):
        return True
    compared = editor.parent(user) if isinstance(user, cst.ComparisonTarget) else user
    if isinstance(compared, cst.Comparison):
        return all(isinstance(target.operator, ARITHMETIC) for target in compared.comparisons)
    if isinstance(user, cst.UnaryOperation):
        return not isinstance(user.operator, cst.Plus)
    if isinstance(user, cst.Arg):
        call = editor.parent(user)
        return isinstance(call, cst.Call) and not user.star and _computes(call, editor)
    if isinstance(user, cst.Attribute):
        if user.attr.value in _PYTHON:
            return True
        call = editor.parent(user)
        return isinstance(call, cst.Call) and call.func is user and _computes(call, editor)
    return False


def _computes(call: cst.Call, editor: Editor) -> bool:
    """The call gives a new tensor, or a Python value, and changes nothing."""
    callee = editor.value(call.func)
    if isinstance(callee, TorchModule):
        return callee.qualname in _NEW and not callee.hooks
    if isinstance(callee, External) and callee.qualname in _READERS:
        return True
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _PYTHON:
        return True
    operator = operator_of(call, editor)
    return operator is not None and operator.fresh
