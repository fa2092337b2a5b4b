"""The libcst node of each kind of expression in Python's syntax tree; see ``from_ast``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from graphdoctor.syntax import nodes
from graphdoctor.syntax.nodes import maker

if TYPE_CHECKING:
    from graphdoctor.syntax.from_ast import Builder

_attribute = maker(cst.Attribute, "value", "attr")
_call = maker(cst.Call, "func", "args")
_subscript = maker(cst.Subscript, "value", "slice")
_binary = maker(cst.BinaryOperation, "left", "operator", "right")
_boolean = maker(cst.BooleanOperation, "left", "operator", "right")
_unary = maker(cst.UnaryOperation, "operator", "expression")
_comparison = maker(cst.Comparison, "left", "comparisons")
_target = maker(cst.ComparisonTarget, "operator", "comparator")
_ternary = maker(cst.IfExp, "test", "body", "orelse")
_lambda = maker(cst.Lambda, "params", "body")
_tuple, _list, _set = (maker(kind, "elements") for kind in (cst.Tuple, cst.List, cst.Set))
_dict = maker(cst.Dict, "elements")
_pair = maker(cst.DictElement, "key", "value")
_spread = maker(cst.StarredDictElement, "value")
_comprehensions = {
    ast.ListComp: maker(cst.ListComp, "elt", "for_in"),
    ast.SetComp: maker(cst.SetComp, "elt", "for_in"),
    ast.GeneratorExp: maker(cst.GeneratorExp, "elt", "for_in"),
}
_dict_comprehension = maker(cst.DictComp, "key", "value", "for_in")
_yield = maker(cst.Yield, "value")
_from = maker(cst.From, "item")
_await = maker(cst.Await, "expression")
_named = maker(cst.NamedExpr, "target", "value")
_string = maker(cst.SimpleString, "value")
_formatted = maker(cst.FormattedString, "parts")
_text = maker(cst.FormattedStringText, "value")
_part = maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec")
_integer = maker(cst.Integer, "value")
_numbers = {float: maker(cst.Float, "value"), complex: maker(cst.Imaginary, "value")}
_ellipsis = maker(cst.Ellipsis)
_starred = nodes.starred

_BINARY: dict[type[ast.operator], cst.BaseBinaryOp] = {
    ast.Add: cst.Add(), ast.Sub: cst.Subtract(), ast.Mult: cst.Multiply(), ast.MatMult: cst.MatrixMultiply(),
    ast.Div: cst.Divide(), ast.Mod: cst.Modulo(), ast.Pow: cst.Power(), ast.LShift: cst.LeftShift(),
    ast.RShift: cst.RightShift(), ast.BitOr: cst.BitOr(), ast.BitXor: cst.BitXor(), ast.BitAnd: cst.BitAnd(),
    ast.FloorDiv: cst.FloorDivide(),
}  # fmt: skip
_BOOLEAN: dict[type[ast.boolop], cst.BaseBooleanOp] = {ast.And: cst.And(), ast.Or: cst.Or()}
_UNARY: dict[type[ast.unaryop], cst.BaseUnaryOp] = {
    ast.Not: cst.Not(), ast.USub: cst.Minus(), ast.UAdd: cst.Plus(), ast.Invert: cst.BitInvert(),
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], cst.BaseCompOp] = {
    ast.Eq: cst.Equal(), ast.NotEq: cst.NotEqual(), ast.Lt: cst.LessThan(), ast.LtE: cst.LessThanEqual(),
    ast.Gt: cst.GreaterThan(), ast.GtE: cst.GreaterThanEqual(), ast.Is: cst.Is(), ast.IsNot: cst.IsNot(),
    ast.In: cst.In(), ast.NotIn: cst.NotIn(),
}  # fmt: skip


def _of_name(_builder: Builder, node: ast.Name) -> Any:
    return nodes.name(node.id)


def _of_constant(_builder: Builder, node: ast.Constant) -> Any:
    value = node.value
    if value is None or value is True or value is False:
        return nodes.name(str(value))
    if value is ...:
        return _ellipsis()
    if type(value) is int:
        # Not in decimal, which Python refuses for numbers of thousands of digits.
        return _integer(hex(value))
    make = _numbers.get(type(value))
    # A float too large for the machine prints as ``inf``, which is a name.
    return _string(repr(value)) if make is None else make(repr(value).replace("inf", "1e999"))


def _of_attribute(builder: Builder, node: ast.Attribute) -> Any:
    attr = nodes.name(node.attr)
    line, end = node.end_lineno or 0, node.end_col_offset or 0
    builder.origin[id(attr)] = line, end - len(node.attr.encode()), line, end
    return _attribute(builder.expression(node.value), attr)


def _of_call(builder: Builder, node: ast.Call) -> Any:
    return _call(builder.expression(node.func), builder.arguments(node.args, node.keywords))


def _of_subscript(builder: Builder, node: ast.Subscript) -> Any:
    return _subscript(builder.expression(node.value), builder.subscripts(node.slice))


def _of_binary(builder: Builder, node: ast.BinOp) -> Any:
    return _binary(builder.expression(node.left), _BINARY[type(node.op)], builder.expression(node.right))


def _of_boolean(builder: Builder, node: ast.BoolOp) -> Any:
    # ``a and b and c`` is ``(a and b) and c``.
    made = builder.expression(node.values[0])
    for value in node.values[1:]:
        made = _boolean(made, _BOOLEAN[type(node.op)], builder.expression(value))
    return made


def _of_unary(builder: Builder, node: ast.UnaryOp) -> Any:
    return _unary(_UNARY[type(node.op)], builder.expression(node.operand))


def _of_comparison(builder: Builder, node: ast.Compare) -> Any:
    parts = zip(node.ops, node.comparators, strict=True)
    targets = [_target(_COMPARE[type(op)], builder.expression(right)) for op, right in parts]
    return _comparison(builder.expression(node.left), targets)


def _of_ternary(builder: Builder, node: ast.IfExp) -> Any:
    return _ternary(builder.expression(node.test), builder.expression(node.body), builder.expression(node.orelse))


def _of_lambda(builder: Builder, node: ast.Lambda) -> Any:
    return _lambda(builder.parameters(node.args), builder.expression(node.body))


def _of_tuple(builder: Builder, node: ast.Tuple) -> Any:
    return _tuple(builder.elements(node.elts))


def _of_list(builder: Builder, node: ast.List) -> Any:
    return _list(builder.elements(node.elts))


def _of_set(builder: Builder, node: ast.Set) -> Any:
    return _set(builder.elements(node.elts))


def _of_dict(builder: Builder, node: ast.Dict) -> Any:
    items = []
    for key, value in zip(node.keys, node.values, strict=True):
        made = builder.expression(value)
        items.append(_spread(made) if key is None else _pair(builder.expression(key), made))
    return _dict(items)


def _of_comprehension(builder: Builder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
    return _comprehensions[type(node)](builder.expression(node.elt), builder.loops(node.generators))


def _of_dict_comprehension(builder: Builder, node: ast.DictComp) -> Any:
    key, value = builder.expression(node.key), builder.expression(node.value)
    return _dict_comprehension(key, value, builder.loops(node.generators))


def _of_yield(builder: Builder, node: ast.Yield) -> Any:
    return _yield(builder.optional(node.value))


def _of_yield_from(builder: Builder, node: ast.YieldFrom) -> Any:
    return _yield(_from(builder.expression(node.value)))


def _of_await(builder: Builder, node: ast.Await) -> Any:
    return _await(builder.expression(node.value))


def _of_named(builder: Builder, node: ast.NamedExpr) -> Any:
    return _named(builder.expression(node.target), builder.expression(node.value))


def _of_starred(builder: Builder, node: ast.Starred) -> Any:
    return _starred(builder.expression(node.value))


def _of_formatted(builder: Builder, node: ast.JoinedStr) -> Any:
    return _formatted(_parts(builder, node))


def _parts(builder: Builder, node: ast.JoinedStr) -> list[Any]:
    found: list[Any] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            spec = part.format_spec
            inner = _parts(builder, spec) if isinstance(spec, ast.JoinedStr) else None
            conversion = None if part.conversion < 0 else chr(part.conversion)
            found.append(_part(builder.expression(part.value), conversion, inner))
        elif text := str(getattr(part, "value", "")):
            # Python 3.12 puts an empty text after the last value of a format.
            found.append(_text(text))
    return found


def _of_other(_builder: Builder, _node: ast.expr) -> Any:
    # A template string (Python 3.14): an object that nothing is known of.
    return _formatted([])


#: What makes the node of each kind of expression.
EXPRESSIONS: dict[type[ast.expr], Callable[[Builder, Any], Any]] = {
    ast.Name: _of_name, ast.Constant: _of_constant, ast.Attribute: _of_attribute, ast.Call: _of_call,
    ast.Subscript: _of_subscript, ast.BinOp: _of_binary, ast.BoolOp: _of_boolean, ast.UnaryOp: _of_unary,
    ast.Compare: _of_comparison, ast.IfExp: _of_ternary, ast.Lambda: _of_lambda, ast.Tuple: _of_tuple,
    ast.List: _of_list, ast.Set: _of_set, ast.Dict: _of_dict, ast.ListComp: _of_comprehension,
    ast.SetComp: _of_comprehension, ast.GeneratorExp: _of_comprehension, ast.DictComp: _of_dict_comprehension,
    ast.Yield: _of_yield, ast.YieldFrom: _of_yield_from, ast.Await: _of_await, ast.NamedExpr: _of_named,
    ast.Starred: _of_starred, ast.JoinedStr: _of_formatted,
}  # fmt: skip
#: For what is not in the table.
OTHER = _of_other
