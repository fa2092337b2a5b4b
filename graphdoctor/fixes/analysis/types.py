"""What the interpreter knows of the expressions that a fix is about: tensor data or not, a bool, one number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import words
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.static.domain import events
from graphdoctor.static.domain.value_functions import is_read, is_tensor, may_be_tensor, options, tensor_of
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Class,
    Const,
    External,
    Method,
    PythonValue,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from graphdoctor.static.rule import Hit
from graphdoctor.syntax.walk import walk

Kind = Literal["bool", "tensor"]

#: Functions and methods that compare tensors and give a Python bool.
COMPARERS = frozenset({"allclose", "equal", "is_nonzero"})
_COMPARING = frozenset(f"torch.{name}" for name in COMPARERS)
#: Functions of ``math`` and numpy that torch has under the same name, with a tensor of bools as the result.
MATH_TESTS = frozenset({"isnan", "isinf", "isfinite"})
#: Conversions of a tensor to a Python value that a rewrite knows how to leave out.
_CONVERSIONS = frozenset(
    {
        "builtins.bool",
        "builtins.float",
        "builtins.int",
        *(f"{of}.{name}" for of in ("math", "numpy") for name in MATH_TESTS),
    }
)
#: Builtins that give a Python value whatever they are given.
_PYTHON_CALLS = words("all any callable hasattr isinstance issubclass len")


@dataclass(frozen=True)
class ReadNames:
    """Names that hold what was read from tensors, and which a rewrite makes tensors: the data of a hit."""

    names: Mapping[str, Kind] = field(default_factory=dict)
    #: Expressions that are written in another way from now on.
    written: Mapping[cst.CSTNode, str] = field(default_factory=dict)


def read_names(hit: Hit) -> ReadNames:
    """The names that the rewrite of ``hit`` makes tensors."""
    return hit.data if isinstance(hit.data, ReadNames) else ReadNames()


class Types:
    """Answers for the expressions of one file; for the node of ``hit``, the values of its event count too."""

    def __init__(self, editor: Editor, hit: Hit) -> None:
        self.editor = editor
        self._known = _known(hit.event)
        self._read = read_names(hit)

    def value(self, node: cst.BaseExpression) -> Value:
        """What is known of ``node``."""
        recorded = self.editor.value(node)
        return self._known.get(node, UNKNOWN) if recorded == UNKNOWN else recorded

    def kind(self, node: cst.BaseExpression) -> Kind | None:
        """ "bool" for a tensor of bools, or a Python bool read from one, "tensor" for other tensor data, else None.

        Refuses what is tensor data on one path only.
        """
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            return "bool" if self.kind(node.expression) is not None else None
        if isinstance(node, cst.BooleanOperation):
            kinds = {self.kind(node.left), self.kind(node.right)}
            return None if None in kinds else ("bool" if kinds == {"bool"} else "tensor")
        if self.drawn(node) or self._is_read(node):
            return self._read.names.get(node.value, "tensor") if isinstance(node, cst.Name) else "tensor"
        value = self.value(node)
        if node in self._known and not self._compares(node):
            only_tensor(node, value, self.editor)
        if self._compares(node):
            return "bool"
        if is_read(value) or self._converts(node):
            return "bool" if all(map(_is_bool, options(value))) else "tensor"
        tensor = tensor_of(value) if may_be_tensor(value) else None
        if tensor is None or any(isinstance(o, Tensor) and o.numpy for o in options(value)):
            return None  # Of a numpy array, eager code has an array, which torch.where does not take.
        return "bool" if tensor.dtype == "bool" else "tensor"

    def is_scalar(self, node: cst.BaseExpression) -> bool:
        """True when ``node`` is known to be a tensor without dimensions, or a number read from one."""
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            return self.is_scalar(node.expression)
        if isinstance(node, cst.BooleanOperation):
            return self.is_scalar(node.left) and self.is_scalar(node.right)
        if self.drawn(node) or self._is_read(node):
            return True
        listed = self.listed(node)
        if listed:
            return self.is_scalar(listed[0])
        value = self.value(node)
        tensor = tensor_of(value) if may_be_tensor(value) else None
        return self._compares(node) or is_read(value) or (tensor is not None and tensor.ndim == 0)

    def drawn(self, node: cst.BaseExpression) -> str:
        """The code of a draw of Python's ``random`` between two bounds, or of the name that holds one; else empty."""
        value = assigned(node, self.editor) if isinstance(node, cst.Name) else node
        if not isinstance(value, cst.Call) or any(a.star or a.keyword for a in value.args):
            return ""
        bounds = {"random.random": 0, "random.uniform": 2}.get(dotted_name(value.func, self.editor))
        return self.editor.code(node) if bounds == len(value.args) else ""

    def reduces(self, node: cst.BaseExpression) -> str:
        """ "any" or "all" where ``node`` calls the builtin on a tensor, or on a list of tensors; else empty."""
        if not isinstance(node, cst.Call) or len(node.args) != 1 or node.args[0].star or node.args[0].keyword:
            return ""
        callee, argument = self.value(node.func), node.args[0].value
        if callee not in (External("builtins.any"), External("builtins.all")):
            return ""
        value = self.value(argument)
        elements = list(value.items or [value.element]) if isinstance(value, Seq) else [value]
        is_data = all(is_tensor(element) or is_read(element) for element in elements)
        return callee.qualname.rpartition(".")[2] if is_data and isinstance(callee, External) else ""

    def listed(self, node: cst.BaseExpression) -> tuple[cst.BaseExpression, ...]:
        """``t``, 1 and 2 of ``t in (1, 2)``; empty for anything else."""
        if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
            return ()
        (part,) = node.comparisons
        if not isinstance(part.operator, (cst.In, cst.NotIn)) or not isinstance(part.comparator, (cst.List, cst.Tuple)):
            return ()
        elements = part.comparator.elements
        if not elements or any(isinstance(e, cst.StarredElement) for e in elements) or self.kind(node.left) is None:
            return ()
        return (node.left, *(e.value for e in elements))

    def _compares(self, node: cst.BaseExpression) -> bool:
        """``3 in t``, ``t.item() > 3``, ``torch.allclose(t, u)``: a Python bool that has a form as a tensor."""
        if isinstance(node, cst.Comparison):
            sides = [node.left, *(c.comparator for c in node.comparisons)]
            if self.listed(node):
                return True
            if isinstance(node.comparisons[0].operator, (cst.In, cst.NotIn)):
                return len(sides) == 2 and self.kind(sides[1]) is not None
            return any(self._converts(side) or self.drawn(side) or self._is_read(side) for side in sides)
        if isinstance(node, cst.Name):
            value = assigned(node, self.editor)
            return value is not None and bool(self.reduces(value))
        if not isinstance(node, cst.Call):
            return False
        if self.reduces(node):
            return True
        callee = self.value(node.func)
        if isinstance(callee, Method):
            return callee.name in COMPARERS and is_tensor(callee.receiver)
        return isinstance(callee, External) and callee.qualname in _COMPARING

    def _is_read(self, node: cst.BaseExpression) -> bool:
        """A name that holds a number of a tensor, and arithmetic of one with Python numbers."""
        if isinstance(node, cst.BinaryOperation):
            # Without ``any`` and ``all``: a sum of a thousand terms would nest more calls in C than Python 3.12 allows.
            left, right = self._is_read(node.left), self._is_read(node.right)
            if left and right:
                return True
            return (left or right) and is_number(node.right if left else node.left, self.editor)
        return node in self._read.written or (isinstance(node, cst.Name) and node.value in self._read.names)

    def written(self, node: cst.CSTNode) -> str:
        """How ``node`` is written from now on; empty where it stays."""
        return self._read.written.get(node, "")

    def _converts(self, node: cst.BaseExpression) -> bool:
        """``t.item()``, ``float(t)``, ``math.isnan(t)``: a Python number of tensor data."""
        if not isinstance(node, cst.Call):
            return False
        callee = self.value(node.func)
        if isinstance(callee, Method):
            return callee.name == "item" and is_tensor(callee.receiver)
        is_conversion = isinstance(callee, External) and callee.qualname in _CONVERSIONS and len(node.args) == 1
        return is_conversion and self.kind(node.args[0].value) is not None


def _is_bool(value: Value) -> bool:
    if isinstance(value, PythonValue):
        return value.kind == "bool"
    return isinstance(value, Tensor) and value.dtype == "bool"


def is_tensor_like(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether an operand is tensor data, known or assumed, on every path of which anything is known."""
    value = editor.value(node)
    return may_be_tensor(value) and all(isinstance(option, (Tensor, Unknown)) for option in options(value))


def may_be_array(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` may be an array of numpy, which takes no tensor as an operand; its scalars do."""
    return any(isinstance(o, Tensor) and o.numpy and o.ndim != 0 for o in options(editor.value(node)))


def is_number(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` is a Python number on every path."""
    return all(_is_number(option) for option in options(editor.value(node)))


def is_annotated_number(name: str, function: cst.FunctionDef) -> bool:
    """Whether the annotation of the parameter ``name`` says that it is a Python number."""
    params = function.params
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.name.value == name and param.annotation is not None:
            annotation = param.annotation.annotation
            return isinstance(annotation, cst.Name) and annotation.value in ("bool", "float", "int")
    return False


def is_other(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` is neither a tensor nor a Python number on some path: a string, a list, None, an object."""
    known = (Tensor, Unknown, External)
    if is_member(node, editor):
        return True
    return any(not isinstance(option, known) and not _is_number(option) for option in options(editor.value(node)))


def is_member(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` is a member of an enumeration, ``Mode.MEAN``, of which the value alone is known."""
    owners = options(editor.value(node.value)) if isinstance(node, cst.Attribute) else ()
    return any(isinstance(owner, Class) and owner.info.derives("enum.Enum", "enum.StrEnum") for owner in owners)


def _is_number(value: Value) -> bool:
    if isinstance(value, Const):
        return type(value.value) in (int, float, bool)
    return isinstance(value, PythonValue) and value.kind in ("bool", "float", "int", "number", "size")


def assigned(name: cst.BaseExpression, editor: Editor) -> cst.BaseExpression | None:
    """The value that the local ``name`` was given, when its function binds it exactly once."""
    function = editor.function_of(name)
    if function is None or not isinstance(name, cst.Name) or name.value in parameters(function):
        return None
    bound = editor.assignments(function, name.value)
    if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or len(bound[0].targets) != 1:
        return None
    return bound[0].value if isinstance(bound[0].targets[0].target, cst.Name) else None


def latest(name: cst.Name, editor: Editor) -> cst.BaseExpression | None:
    """The value that the local ``name`` was given last before it is read here, where it is the same on all paths."""
    if (once := assigned(name, editor)) is not None:
        return once
    function = editor.function_of(name)
    bound = editor.assignments(function, name.value) if function is not None else []
    line = editor.location(name).line
    before = [b for b in bound if editor.location(b).line < line]
    last = before[-1] if before else None
    if not isinstance(last, cst.Assign) or len(last.targets) != 1 or not isinstance(last.targets[0].target, cst.Name):
        return None
    block = editor.parent(editor.parent(last) or last)
    around = next((n for n in editor.ancestors(name) if editor.parent(n) is block), None)
    # ``n = f(n)`` binds the name after the read.
    is_line = isinstance(around, cst.SimpleStatementLine)
    if around is None or any(b in set(walk(around)) for b in bound if not (is_line and isinstance(b, cst.Assign))):
        return None
    return last.value


def only_tensor(node: cst.BaseExpression, value: Value, editor: Editor) -> None:
    """Refuse a tensor ``node`` that may also be a Python value: what is right for one is wrong for the other.

    ``ok = x.isfinite().all() if check else True``: ``~True`` is -2, and a bool has no ``all()``. A sample decides
    flags, so ``value`` may know one path only; the source has all of them.
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
            _may_be_python(v, editor, depth + 1) for v in _values_of(node, editor)
        )
    if isinstance(node, cst.IfExp):
        return _may_be_python(node.body, editor, depth + 1) or _may_be_python(node.orelse, editor, depth + 1)
    if isinstance(node, cst.BooleanOperation):
        return _may_be_python(node.left, editor, depth + 1) or _may_be_python(node.right, editor, depth + 1)
    if isinstance(node, cst.Comparison):
        return isinstance(node.comparisons[0].operator, (cst.Is, cst.IsNot))
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in _PYTHON_CALLS


def _values_of(name: cst.Name, editor: Editor) -> list[cst.BaseExpression]:
    """What the function gives to ``name``: in plain assignments, and as the default of an argument."""
    function = editor.function_of(name)
    if function is None:
        return []
    bound = [b for b in editor.assignments(function, name.value) if isinstance(b, cst.Assign)]
    values = [b.value for b in bound if any(isinstance(t.target, cst.Name) for t in b.targets)]
    default = parameters(function).get(name.value)
    return values if default is None else [*values, default]


def _known(event: events.Event) -> dict[cst.CSTNode, Value]:
    """The values of nodes in the event."""
    if isinstance(event, events.Truth):
        return {event.node: event.value}
    if isinstance(event, events.Assert) and isinstance(event.node, cst.Assert):
        return {event.node.test: event.test}
    return {}
