"""What a tensor can be where a branch stands: the code that ran before it would have raised for anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.scope import assignments
from graphdoctor.fixes.proof.operators import KINDS
from graphdoctor.fixes.proof.terms import Term, kind_of, layers, term
from graphdoctor.static.domain.value_functions import is_tensor
from graphdoctor.static.domain.values import External, Seq, TorchModule, Value
from graphdoctor.syntax.walk import children, walk

_ALL = frozenset(KINDS)
_FLOATING = frozenset({"float", "complex"})
#: Where the source names none of these, the weights of layers are real.
_COMPLEX = re.compile("complex|cfloat|cdouble")
#: Layers that take no other inputs than floating ones: others raise, and results are floating.
_WITH_WEIGHTS = layers("""
    Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d GroupNorm LayerNorm Linear
""")
#: The same, except for a batch without rows: of whatever dtype, it is returned as it is or multiplied by the weights.
_BUT_FOR_NO_ROWS = layers("BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d")
#: Layers whose result has the dtype of what they are given.
_KEEP_DTYPE = layers("Dropout Dropout1d Dropout2d Dropout3d ELU Flatten GELU Identity LeakyReLU ReLU SiLU Sigmoid Tanh")
#: Functions that make floating tensors where no dtype is named.
_MAKERS = frozenset({"torch.rand", "torch.randn"})
#: Nodes whose parts are not always evaluated, or not at this place.
_MAYBE = (cst.IfExp, cst.BooleanOperation, cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


@dataclass(frozen=True)
class Domain:
    """The kinds of dtypes (see ``KINDS``) that a tensor may have, and whether it is known to have elements."""

    kinds: frozenset[str] = _ALL
    has_elements: bool = False

    def evaluated(self, known: Term) -> Domain:
        """The domain once ``known``, a term of the tensor, has been computed without an error."""
        kinds = frozenset(kind for kind in self.kinds if known.supports(kind))
        return Domain(kinds, self.has_elements or known.raises_on_empty)


def domain(base: str, node: cst.CSTNode, editor: Editor) -> Domain:
    """What the tensor in the plain name ``base`` can be where ``node`` stands. Attributes may be changed anywhere."""
    kinds = _ALL
    if not base.isidentifier():
        return Domain()
    for statement in _before(node, base, editor):
        for small in statement.body:
            if assignments(small, base):
                return Domain(kinds & _assigned_kinds(small, editor))
            kinds &= _required(small, base, editor)
    return Domain(kinds)


def assigned_before(name: str, node: cst.CSTNode, editor: Editor) -> cst.BaseExpression | None:
    """What the plain ``name`` was last assigned before ``node``, where one assignment reaches it on every path."""
    for statement in _before(node, name, editor):
        for small in statement.body:
            if assignments(small, name):
                is_plain = isinstance(small, cst.Assign) and all(isinstance(t.target, cst.Name) for t in small.targets)
                return small.value if is_plain and len(statement.body) == 1 else None  # type: ignore[attr-defined]
    return None


def is_bound_since(name: str, value: cst.CSTNode, node: cst.CSTNode, editor: Editor) -> bool:
    """Whether the plain ``name`` stands for the same tensor where ``value`` was computed and where ``node`` stands."""
    for statement in _before(node, name, editor):
        if any(inner is value for inner in walk(statement)):
            return not assignments(statement, name)
    return False


def is_on_device_of(one: str, other: str, node: cst.CSTNode, editor: Editor, steps: int = 4) -> bool:
    """Whether the tensor ``other`` is computed from ``one`` where ``node`` stands, so that they share a device."""
    if one == other:
        return True
    for statement in _before(node, other, editor) if other.isidentifier() and steps else ():
        for small in statement.body:
            if isinstance(small, cst.Assign) and assignments(small, other) and len(statement.body) == 1:
                source = _source(small.value, editor)
                return source != "" and is_on_device_of(one, source, small, editor, steps - 1)
    return False


def _source(node: cst.BaseExpression, editor: Editor) -> str:
    """The plain name of the tensor from which a layer with weights, or an operator, computes ``node``."""
    known = term(node, editor)
    if known is not None:
        return known.base
    if isinstance(node, cst.Call) and node.args and isinstance(node.args[0].value, cst.Name):
        callee = editor.value(node.func)
        is_layer = isinstance(callee, TorchModule) and callee.qualname in _WITH_WEIGHTS | _BUT_FOR_NO_ROWS | _KEEP_DTYPE
        return node.args[0].value.value if is_layer else ""
    return ""


def _before(node: cst.CSTNode, name: str, editor: Editor) -> Iterator[cst.SimpleStatementLine]:
    """The simple statements that ran before ``node`` since ``name`` was bound, the last first.

    Ends after a statement that binds the name, and before one of which it is not clear whether it does.
    """
    inner: cst.CSTNode = node
    for outer in editor.ancestors(node):
        if isinstance(outer, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            return
        if isinstance(outer, (cst.For, cst.While)) and assignments(outer, name):
            return
        if isinstance(outer, (cst.Match, cst.CompFor, cst.ExceptHandler, cst.Finally)):
            return
        if isinstance(outer, (cst.IndentedBlock, cst.Module)):
            position = next(i for i, statement in enumerate(outer.body) if statement is inner)
            for statement in reversed(outer.body[:position]):
                if not isinstance(statement, cst.SimpleStatementLine):
                    is_plain = isinstance(statement, (cst.If, cst.For, cst.While, cst.With))
                    if not is_plain or assignments(statement, name):
                        return
                    continue
                if any(isinstance(small, (cst.Del, cst.Global, cst.Nonlocal)) for small in statement.body):
                    return
                yield statement
                if assignments(statement, name):
                    return
        inner = outer


def _assigned_kinds(small: cst.CSTNode, editor: Editor) -> frozenset[str]:
    if not isinstance(small, cst.Assign) or not all(isinstance(t.target, cst.Name) for t in small.targets):
        return _ALL
    return _kinds(small.value, editor)


def _kinds(node: cst.BaseExpression, editor: Editor) -> frozenset[str]:
    """The kinds of dtypes that the value of ``node`` may have."""
    known = term(node, editor)
    if known is not None:
        base = domain(known.base, node, editor)
        return frozenset().union(*(kind_of(known, kind) for kind in base.kinds))
    if isinstance(node, cst.Call):
        return _of_call(editor.value(node.func), node, editor)
    if isinstance(node, cst.BinaryOperation):
        sides = (node.left, node.right)
        if all(is_tensor(editor.value(side)) for side in sides):
            kinds = [_kinds(side, editor) for side in sides]
            if any(one <= _FLOATING for one in kinds):
                return frozenset.union(*kinds) & _FLOATING
    return _ALL


def _of_call(callee: Value, node: cst.Call, editor: Editor) -> frozenset[str]:
    named = {a.keyword.value for a in node.args if a.keyword is not None}
    if isinstance(callee, External) and callee.qualname in _MAKERS and "dtype" not in named:
        return frozenset({"float"})
    if isinstance(callee, TorchModule) and node.args and not node.args[0].star:
        return _through(callee, _kinds(node.args[0].value, editor), editor)
    return _ALL


def _floating(editor: Editor) -> frozenset[str]:
    """The kinds of dtypes of what layers compute with their weights."""
    return _FLOATING if editor.module.has(_COMPLEX) else frozenset({"float"})


def _through(layer: TorchModule, kinds: frozenset[str], editor: Editor) -> frozenset[str]:
    if layer.hooks:
        return _ALL
    if layer.qualname in _WITH_WEIGHTS:
        return _floating(editor)
    if layer.qualname in _BUT_FOR_NO_ROWS:
        return kinds | _floating(editor)
    if layer.qualname in _KEEP_DTYPE:
        return kinds
    children = layer.children
    if layer.qualname == "torch.nn.Sequential" and isinstance(children, Seq) and children.items is not None:
        for child in children.items:
            kinds = _through(child, kinds, editor) if isinstance(child, TorchModule) else _ALL
        return kinds
    return _ALL


def _required(small: cst.CSTNode, base: str, editor: Editor) -> frozenset[str]:
    """The kinds of dtypes of ``base`` for which the statement ``small`` does not raise."""
    kinds, stack = _ALL, [small]
    while stack:
        node = stack.pop()
        if isinstance(node, _MAYBE):
            continue
        if isinstance(node, cst.Assert):
            stack.append(node.test)
            continue
        if isinstance(node, cst.AnnAssign):
            stack.extend([node.value] if node.value is not None else [])
            continue
        if isinstance(node, cst.Comparison):
            # After the first that is false, a chained comparison computes nothing.
            stack.extend([node.left, node.comparisons[0].comparator])
            continue
        if isinstance(node, cst.Call) and _is_first_argument(node, base):
            layer = editor.value(node.func)
            if isinstance(layer, TorchModule) and layer.qualname in _WITH_WEIGHTS:
                kinds &= _floating(editor)
        if isinstance(node, (cst.Call, cst.BinaryOperation, cst.UnaryOperation)):
            known = term(node, editor)
            if known is not None and known.base == base:
                kinds = Domain(kinds).evaluated(known).kinds
        stack += children(node)
    return kinds


def _is_first_argument(node: cst.Call, base: str) -> bool:
    first = node.args[0].value if node.args and not node.args[0].star else None
    return isinstance(first, cst.Name) and first.value == base
