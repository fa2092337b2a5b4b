"""Whether an expression is tensor data, as far as the static pass and the source show it."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.only_tensor import only_tensor
from graphdoctor.fixes.purity import ELEMENTWISE, REDUCTIONS, called, is_torch_function, root, words
from graphdoctor.fixes.scope import parameters
from graphdoctor.static import events
from graphdoctor.static.rule import Hit
from graphdoctor.static.values import Tensor, Value, tensor_of

Kind = Literal["bool", "tensor"]

#: Operators whose result is a tensor of bools.
_BOOL = words("""
    all any bool eq ge gt isclose isfinite isin isinf isnan isneginf isposinf le logical_and logical_not logical_or
    logical_xor lt ne
""")
#: Operators that leave a single number when no dimension is given.
_REDUCING = REDUCTIONS | words("all any argmax argmin count_nonzero max median min nansum norm prod std sum var")
_TENSOR = ELEMENTWISE | _REDUCING | words("dot double float half int long to trace vector_norm")
#: Functions of torch that make tensors of numbers; the first argument of most is the shape.
_MADE = words("bernoulli empty full normal ones rand randint randn tensor zeros")
#: Functions and methods that compare tensors and give a Python bool.
COMPARERS = frozenset({"allclose", "equal", "is_nonzero"})
#: Functions of ``math`` that torch has under the same name, with a tensor of bools as the result.
MATH_TESTS = frozenset({"isnan", "isinf", "isfinite"})
_COMPARISONS = (cst.LessThan, cst.GreaterThan, cst.LessThanEqual, cst.GreaterThanEqual, cst.Equal, cst.NotEqual)


class Kinds:
    """Answers for the expressions of one file; the value that ``hit`` carries is believed first."""

    def __init__(self, editor: Editor, hit: Hit) -> None:
        self.editor = editor
        self._known = _known(hit.event)

    def kind(self, node: cst.BaseExpression) -> Kind | None:
        """ "bool" for a tensor of bools, "tensor" for other tensor data, None where neither is shown.

        Refuses what is tensor data on one path only.
        """
        if node in self._known:
            only_tensor(node, self._known[node], self.editor)
        tensor = self._tensor(node)
        if tensor is not None and tensor.numpy:
            return None  # In eager it is an array, which torch.where does not take.
        if tensor is not None and tensor.dtype is not None:
            return "bool" if tensor.dtype == "bool" else "tensor"
        return self._from_source(node) or ("tensor" if tensor is not None else None)

    def is_scalar(self, node: cst.BaseExpression) -> bool:
        """True when ``node`` is shown to be a tensor without dimensions."""
        tensor = self._tensor(node)
        if tensor is not None and tensor.ndim is not None:
            return tensor.ndim == 0
        if isinstance(node, cst.UnaryOperation):
            return self.is_scalar(node.expression)
        if isinstance(node, (cst.BooleanOperation, cst.BinaryOperation)):
            return self._all_scalar(node.left, node.right)
        if isinstance(node, cst.Comparison):
            if self._is_membership(node):
                return True
            return self._all_scalar(node.left, *(c.comparator for c in node.comparisons))
        if isinstance(node, cst.Call):
            return self._scalar_call(node)
        value = self.assigned(node)
        return value is not None and self.is_scalar(value)

    def assigned(self, name: cst.BaseExpression) -> cst.BaseExpression | None:
        """What the local ``name`` was given, when its function binds it exactly once."""
        function = self.editor.function_of(name)
        if function is None or not isinstance(name, cst.Name) or name.value in parameters(function):
            return None
        bound = self.editor.assignments(function, name.value)
        if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or len(bound[0].targets) != 1:
            return None
        return bound[0].value if isinstance(bound[0].targets[0].target, cst.Name) else None

    def _tensor(self, node: cst.BaseExpression) -> Tensor | None:
        return tensor_of(self._known[node]) if node in self._known else None

    def _from_source(self, node: cst.BaseExpression) -> Kind | None:
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.Comparison):
            sides = [node.left, *(c.comparator for c in node.comparisons)]
            if self._is_membership(node):
                return "bool"
            is_elementwise = all(isinstance(c.operator, _COMPARISONS) for c in node.comparisons)
            return "bool" if is_elementwise and any(self.kind(s) is not None for s in sides) else None
        if isinstance(node, cst.UnaryOperation):
            inner = self.kind(node.expression)
            return "bool" if inner is not None and isinstance(node.operator, cst.Not) else inner
        if isinstance(node, (cst.BinaryOperation, cst.BooleanOperation)):
            kinds = {self.kind(node.left), self.kind(node.right)}
            if kinds == {None} or (isinstance(node, cst.BooleanOperation) and None in kinds):
                return None
            return "bool" if kinds == {"bool"} else "tensor"
        value = self.assigned(node)
        return self.kind(value) if value is not None else None

    def _is_membership(self, node: cst.Comparison) -> bool:
        """``3 in ids``, where the static pass says that ``ids`` is tensor data."""
        is_in = isinstance(node.comparisons[0].operator, (cst.In, cst.NotIn)) and len(node.comparisons) == 1
        return is_in and (node in self._known or self.kind(node.comparisons[0].comparator) is not None)

    def _call(self, node: cst.Call) -> Kind | None:
        name = called(node)
        argument = self.kind(node.args[0].value) if len(node.args) == 1 else None
        if root(node.func) == "math":
            return "bool" if name in MATH_TESTS and argument is not None else None
        if root(node.func) in ("np", "numpy"):
            return None  # In eager it gives a bool or a number of numpy.
        if isinstance(node.func, cst.Name) and not is_torch_function(node, self.editor):
            if argument is None or name not in ("float", "bool"):
                return None
            return "bool" if argument == name else "tensor"
        if name in COMPARERS:
            return "bool"
        if name == "item" and isinstance(node.func, cst.Attribute):
            return self.kind(node.func.value) or "tensor"
        if name in _MADE and is_torch_function(node, self.editor):
            return "tensor"
        return "bool" if name in _BOOL else ("tensor" if name in _TENSOR else None)

    def _scalar_call(self, node: cst.Call) -> bool:
        name = called(node)
        if isinstance(node.func, cst.Name) and name in ("float", "bool") and len(node.args) == 1:
            return self.is_scalar(node.args[0].value)
        if name == "item" or name in COMPARERS:
            return True
        is_function = is_torch_function(node, self.editor)
        if name in _MADE and is_function:
            shape = node.args[0].value if node.args else None
            return isinstance(shape, (cst.List, cst.Tuple)) and not shape.elements
        if name in _REDUCING:
            return len(node.args) == int(is_function)
        if is_function or root(node.func) == "math":
            return len(node.args) == 1 and self.is_scalar(node.args[0].value)
        return isinstance(node.func, cst.Attribute) and not node.args and self.is_scalar(node.func.value)

    def _all_scalar(self, *operands: cst.BaseExpression) -> bool:
        """One operand is a scalar tensor, and the others are too or are not shown to be tensors."""
        scalars = [self.is_scalar(o) for o in operands]
        return any(scalars) and all(s or self.kind(o) is None for s, o in zip(scalars, operands, strict=True))


def _known(event: events.Event) -> dict[cst.CSTNode, Value]:
    """What the event says of nodes."""
    if isinstance(event, events.Truth):
        return {event.node: event.value}
    if isinstance(event, events.Assert) and isinstance(event.node, cst.Assert):
        return {event.node.test: event.test}
    return {}
