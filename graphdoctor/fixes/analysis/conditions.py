"""Conditions that Python evaluates, rewritten as conditions that stay tensors."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, calls, is_pure
from graphdoctor.fixes.analysis.types import COMPARERS, MATH_TESTS, Types
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import Hit

_CONVERSIONS = frozenset({"bool", "float", "item"})


@dataclass(frozen=True)
class Condition:
    """``python`` is evaluated first and may be empty; ``tensor`` is an expression of one bool tensor."""

    python: str
    tensor: str
    #: The tensor is known to have no dimension, so it widens nothing.
    scalar: bool

    @property
    def negated(self) -> str:
        """The opposite of the tensor part."""
        return negate(self.tensor)

    def without_dimensions(self, text: str) -> str:
        """``text``, code of the tensor part, without dimensions: Python takes the truth of one element of any shape."""
        return text if self.scalar else f"{tight(text)}.reshape(())"


class Conditions:
    """Rewrites the conditions around one hit."""

    def __init__(self, editor: Editor, hit: Hit) -> None:
        self.editor = editor
        self.types = Types(editor, hit)

    def split(self, test: cst.BaseExpression) -> Condition:
        """``flag and x.any()`` in its two parts. Refuses where none is tensor data, or where they mix otherwise."""
        operands = conjuncts(test)
        first = next((i for i, o in enumerate(operands) if self.types.kind(o) is not None), None)
        if first is None:
            raise Refuse(f"it is not clear which part of `{self.editor.code(test)}` is tensor data")
        tensors = operands[first:]
        text = self.boolean(tensors[0])
        for operand in tensors[1:]:
            text = f"{tight(text)} & {tight(self.boolean(operand))}"
        python = " and ".join(_in_and(self.editor.code(o), o) for o in operands[:first])
        return Condition(python, text, all(self.types.is_scalar(o) for o in tensors))

    def boolean(self, test: cst.BaseExpression) -> str:
        """``test`` as a tensor of bools, with the truth that Python would see. Raises Refuse where it does not fit."""
        if isinstance(test, cst.BooleanOperation):
            symbol = "&" if isinstance(test.operator, cst.And) else "|"
            return f"{tight(self.boolean(test.left))} {symbol} {tight(self.boolean(test.right))}"
        if self.types.reduces(test):
            return self._reduced(test)
        kind = self.types.kind(test)
        if kind is None:
            code = self.editor.code(test)
            raise Refuse(f"`{code}` is not known to be tensor data, and Python and tensor conditions do not mix")
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return negate(self.boolean(test.expression))
        if isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, (cst.In, cst.NotIn)):
            return self._membership(test)
        if isinstance(test, cst.Comparison) and len(test.comparisons) > 1:
            return self._chain(test)
        text = self.number_free(test)
        return text if kind == "bool" else f"{tight(text)} != 0"

    def number_free(self, node: cst.BaseExpression) -> str:
        """The code of ``node`` with conversions of tensors to Python numbers dropped: ``x.max().item() > 3``."""
        changed = node.visit(_DropConversions(self.types))
        return self.editor.module.tree.code_for_node(changed) if isinstance(changed, cst.CSTNode) else ""

    def _reduced(self, test: cst.BaseExpression) -> str:
        """``any(t > 3 for t in parts)`` as ``torch.stack([t > 3 for t in parts]).any()``."""
        assert isinstance(test, cst.Call)
        argument, method = test.args[0].value, f"{called(test)}()"
        if self.types.kind(argument) is not None:
            return f"{receiver(self.number_free(argument))}.{method}"
        if isinstance(argument, (cst.GeneratorExp, cst.ListComp)):
            self._check_repeatable(argument)
            every = self.editor.module.tree.code_for_node(argument.for_in).strip()
            return f"torch.stack([{self.boolean(argument.elt)} {every}]).{method}"
        if isinstance(argument, (cst.List, cst.Tuple)):
            self._check_repeatable(argument)
            if any(isinstance(e, cst.StarredElement) for e in argument.elements):
                raise Refuse(f"`{self.editor.code(argument)}` is not written out")
            return f"torch.stack([{', '.join(self.boolean(e.value) for e in argument.elements)}]).{method}"
        return f"torch.stack({self.editor.code(argument)}).{method}"

    def _check_repeatable(self, code: cst.CSTNode) -> None:
        """Refuse calls that Python might not come to, or come to once only."""
        for call in calls(code):
            if not is_pure(call, self.editor, python=True) and called(call) not in _CONVERSIONS:
                raise Refuse(f"`{self.editor.code(call)}` may have side effects, and would run more often")

    def _membership(self, test: cst.Comparison) -> str:
        """``3 in ids`` as ``(ids == 3).any()``, ``t in (1, 2)`` as ``(t == 1) | (t == 2)``."""
        listed = self.types.listed(test)
        if listed:
            self._check_repeatable(test)
            tensor, *values = (self.number_free(value) for value in listed)
            text = " | ".join(f"({tight(tensor)} == {tight(value)})" for value in values)
            return text if isinstance(test.comparisons[0].operator, cst.In) else f"~({text})"
        value, tensor = self.number_free(test.left), self.number_free(test.comparisons[0].comparator)
        text = f"({tight(tensor)} == {tight(value)}).any()"
        return text if isinstance(test.comparisons[0].operator, cst.In) else f"~{text}"

    def _chain(self, test: cst.Comparison) -> str:
        """``0 < t < 1`` as ``(0 < t) & (t < 1)``, of which the middle is computed twice."""
        parts, left = [], test.left
        for middle in test.comparisons[:-1]:
            for call in calls(middle.comparator):
                if not is_pure(call, self.editor) and called(call) not in _CONVERSIONS:
                    raise Refuse(f"`{self.editor.code(call)}` would be called twice; give it a name")
        for comparison in test.comparisons:
            operator = self.editor.module.tree.code_for_node(comparison.operator)
            parts.append(f"({self.number_free(left)}{operator}{self.number_free(comparison.comparator)})")
            left = comparison.comparator
        return " & ".join(parts)


class _DropConversions(cst.CSTTransformer):
    """``t.item()``, ``float(t)`` and ``bool(t)`` become ``t``; ``math.isnan(t)`` becomes ``torch.isnan(t)``."""

    def __init__(self, types: Types) -> None:
        self.types = types

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        if written := self.types.written(original_node):
            return cst.parse_expression(written)
        drawn = not self.types.editor.is_label(original_node) and self.types.drawn(original_node)
        return _as_tensor(drawn) if drawn else updated_node

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        written = self.types.written(original_node)
        return cst.parse_expression(written) if written else updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        name, written = called(original_node), self.types.written(original_node)
        if written:
            return cst.parse_expression(written)
        if self.types.drawn(original_node):
            # CPython: uniform(a, b) is a + (b - a) * random(). Dynamo traces only the former.
            bounds = ", ".join(_code(a.value) for a in updated_node.args) or "0.0, 1.0"
            return _as_tensor(f"random.uniform({bounds})")
        if name == "item" and isinstance(updated_node.func, cst.Attribute) and not updated_node.args:
            assert isinstance(original_node.func, cst.Attribute)
            return _one_number(updated_node, self.types.is_scalar(original_node.func.value))
        if name in COMPARERS:
            if name == "equal" and any(not is_pure(c, self.types.editor) for a in original_node.args for c in calls(a)):
                raise Refuse("what torch.equal compares would be computed twice")
            return _comparison(name, updated_node)
        if len(original_node.args) != 1 or self.types.kind(original_node.args[0].value) is None:
            return updated_node
        argument = updated_node.args[0].value
        whole = dotted_name(original_node.func, self.types.editor)
        if name in MATH_TESTS and whole in (f"math.{name}", f"numpy.{name}"):
            return updated_node.with_changes(func=cst.Attribute(cst.Name("torch"), cst.Name(name)))
        if isinstance(original_node.func, cst.Name) and name == "int":
            raise Refuse("int() cuts off the fraction, which the tensor would keep")
        if isinstance(original_node.func, cst.Name) and name in ("float", "bool"):
            simple = isinstance(argument, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or argument.lpar
            parens = {"lpar": [cst.LeftParen()], "rpar": [cst.RightParen()]}
            return argument if simple else argument.with_changes(**parens)
        return updated_node


def _as_tensor(number: str) -> cst.BaseExpression:
    """A Python number as a tensor in which nothing is rounded."""
    return cst.parse_expression(f"torch.as_tensor({number}, dtype=torch.float64)")


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _one_number(item: cst.Call, is_scalar: bool) -> cst.BaseExpression:
    """The tensor in ``t.item()``, without dimensions: ``item()`` takes one number out of any."""
    assert isinstance(item.func, cst.Attribute)
    if is_scalar:
        return item.func.value
    reshape = item.func.with_changes(attr=cst.Name("reshape"))
    return cst.Call(reshape, [cst.Arg(cst.Tuple([]))])


def _comparison(name: str, call: cst.Call) -> cst.BaseExpression:
    """``torch.allclose(a, b)`` and the like as a tensor of one bool."""
    code = cst.Module([]).code_for_node
    args = [a.with_changes(comma=cst.MaybeSentinel.DEFAULT) for a in call.args]
    operands = [code(a.value if a.keyword is None else a) for a in args]
    if not (isinstance(call.func, cst.Attribute) and code(call.func.value) == "torch"):
        if not isinstance(call.func, cst.Attribute):
            raise Refuse(f"`{code(call)}` is not called as a function of torch or a method")
        operands.insert(0, code(call.func.value))
    if name == "allclose":
        return cst.parse_expression(f"torch.isclose({', '.join(operands)}).all()")
    if name == "is_nonzero" and len(operands) == 1:
        return cst.parse_expression(f"({tight(operands[0])} != 0)")
    if name == "equal" and len(operands) == 2:
        one, other = map(tight, operands)
        # It is False for other shapes, where an elementwise comparison raises.
        text = f"(({one} == {other}).all() if {one}.shape == {other}.shape else torch.tensor(False))"
        return cst.parse_expression(text)
    raise Refuse(f"`{code(call)}` cannot be written as a tensor expression")


def negate(text: str) -> str:
    """The opposite of a bool tensor expression."""
    node = cst.parse_expression(text)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.BitInvert):
        return cst.Module([]).code_for_node(node.expression)
    return f"~{tight(text)}"


def tight(text: str) -> str:
    """``text`` in parentheses unless it binds as tightly as a name."""
    node = cst.parse_expression(text)
    tight = isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float))
    tight = tight or bool(node.lpar)
    is_invert = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.BitInvert)
    return text if tight or is_invert else f"({text})"


def receiver(text: str) -> str:
    """``text`` as what a method is called on: ``~m.sum()`` would be the opposite of the sum."""
    return f"({text})" if isinstance(cst.parse_expression(text), cst.UnaryOperation) else tight(text)


def conjuncts(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The operands of ``and``, in the order of evaluation; the test itself where there is no ``and``."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*conjuncts(test.left), *conjuncts(test.right)]
    return [test]


def _in_and(code: str, node: cst.BaseExpression) -> str:
    """``code`` as an operand of ``and``."""
    loose = isinstance(node, (cst.BooleanOperation, cst.IfExp, cst.Lambda, cst.NamedExpr)) and not node.lpar
    return f"({code})" if loose else code
