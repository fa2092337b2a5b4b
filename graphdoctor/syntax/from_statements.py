"""The libcst node of each kind of statement in Python's syntax tree; see ``from_ast``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from graphdoctor.syntax import nodes
from graphdoctor.syntax.from_patterns import pattern
from graphdoctor.syntax.nodes import maker

if TYPE_CHECKING:
    from graphdoctor.syntax.from_ast import Builder

_expr = maker(cst.Expr, "value")
_assign = maker(cst.Assign, "targets", "value")
_target = maker(cst.AssignTarget, "target")
_annotated = maker(cst.AnnAssign, "target", "annotation", "value")
_augmented = maker(cst.AugAssign, "target", "operator", "value")
_return = maker(cst.Return, "value")
_raise = maker(cst.Raise, "exc", "cause")
_from = maker(cst.From, "item")
_assert = maker(cst.Assert, "test", "msg")
_del = maker(cst.Del, "target")
_tuple = maker(cst.Tuple, "elements")
_pass, _break, _continue = maker(cst.Pass), maker(cst.Break), maker(cst.Continue)
_global, _nonlocal = maker(cst.Global, "names"), maker(cst.Nonlocal, "names")
_name_item = maker(cst.NameItem, "name")
_import = maker(cst.Import, "names")
_import_from = maker(cst.ImportFrom, "module", "names", "relative")
_star, _dot = maker(cst.ImportStar), maker(cst.Dot)
_alias = maker(cst.ImportAlias, "name", "asname")
_as = maker(cst.AsName, "name")
_attribute = maker(cst.Attribute, "value", "attr")
_if = maker(cst.If, "test", "body", "orelse")
_else = maker(cst.Else, "body")
_for = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_while = maker(cst.While, "test", "body", "orelse")
_with = maker(cst.With, "items", "body", "asynchronous")
_with_item = maker(cst.WithItem, "item", "asname")
_try = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_try_star = maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
_handler = maker(cst.ExceptHandler, "body", "type", "name")
_star_handler = maker(cst.ExceptStarHandler, "body", "type", "name")
_finally = maker(cst.Finally, "body")
_match = maker(cst.Match, "subject", "cases")
_case = maker(cst.MatchCase, "pattern", "body", "guard")
_class = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")

_AUGMENTED: dict[type[ast.operator], cst.BaseAugOp] = {
    ast.Add: cst.AddAssign(), ast.Sub: cst.SubtractAssign(), ast.Mult: cst.MultiplyAssign(),
    ast.MatMult: cst.MatrixMultiplyAssign(), ast.Div: cst.DivideAssign(), ast.Mod: cst.ModuloAssign(),
    ast.Pow: cst.PowerAssign(), ast.LShift: cst.LeftShiftAssign(), ast.RShift: cst.RightShiftAssign(),
    ast.BitOr: cst.BitOrAssign(), ast.BitXor: cst.BitXorAssign(), ast.BitAnd: cst.BitAndAssign(),
    ast.FloorDiv: cst.FloorDivideAssign(),
}  # fmt: skip


def _of_expr(builder: Builder, node: ast.Expr) -> Any:
    return _expr(builder.expression(node.value))


def _of_assign(builder: Builder, node: ast.Assign) -> Any:
    return _assign([_target(builder.expression(t)) for t in node.targets], builder.expression(node.value))


def _of_annotated(builder: Builder, node: ast.AnnAssign) -> Any:
    target, annotation = builder.expression(node.target), builder.annotation(node.annotation)
    return _annotated(target, annotation, builder.optional(node.value))


def _of_augmented(builder: Builder, node: ast.AugAssign) -> Any:
    return _augmented(builder.expression(node.target), _AUGMENTED[type(node.op)], builder.expression(node.value))


def _of_return(builder: Builder, node: ast.Return) -> Any:
    return _return(builder.optional(node.value))


def _of_raise(builder: Builder, node: ast.Raise) -> Any:
    cause = None if node.cause is None else _from(builder.expression(node.cause))
    return _raise(builder.optional(node.exc), cause)


def _of_assert(builder: Builder, node: ast.Assert) -> Any:
    return _assert(builder.expression(node.test), builder.optional(node.msg))


def _of_del(builder: Builder, node: ast.Delete) -> Any:
    if len(node.targets) == 1:
        return _del(builder.expression(node.targets[0]))
    return _del(_tuple(builder.elements(node.targets)))


def _of_pass(_builder: Builder, _node: ast.Pass) -> Any:
    return _pass()


def _of_break(_builder: Builder, _node: ast.Break) -> Any:
    return _break()


def _of_continue(_builder: Builder, _node: ast.Continue) -> Any:
    return _continue()


def _of_global(_builder: Builder, node: ast.Global) -> Any:
    return _global([_name_item(nodes.name(name)) for name in node.names])


def _of_nonlocal(_builder: Builder, node: ast.Nonlocal) -> Any:
    return _nonlocal([_name_item(nodes.name(name)) for name in node.names])


def _of_import(builder: Builder, node: ast.Import) -> Any:
    return _import(_aliases(builder, node.names))


def _of_import_from(builder: Builder, node: ast.ImportFrom) -> Any:
    names = _star() if node.names[0].name == "*" else _aliases(builder, node.names)
    return _import_from(None if node.module is None else _dotted(node.module), names, [_dot()] * node.level)


def _aliases(builder: Builder, found: list[ast.alias]) -> list[Any]:
    made = []
    for node in found:
        alias = _alias(_dotted(node.name), None if node.asname is None else _as(nodes.name(node.asname)))
        builder.origin[id(alias)] = node
        made.append(alias)
    return made


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    made = nodes.name(first)
    for part in rest:
        made = _attribute(made, nodes.name(part))
    return made


def _of_if(builder: Builder, node: ast.If) -> Any:
    return _if(builder.expression(node.test), builder.suite(node.body), _what_else(builder, node))


def _what_else(builder: Builder, node: ast.If) -> Any:
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and builder.is_elif(node.orelse[0]):
        inner = node.orelse[0]
        made = _of_if(builder, inner)
        builder.origin[id(made)] = inner
        return made
    return _orelse(builder, node.orelse)


def _orelse(builder: Builder, body: list[ast.stmt]) -> Any:
    return _else(builder.suite(body)) if body else None


def _of_for(builder: Builder, node: ast.For | ast.AsyncFor) -> Any:
    target, over, body = builder.expression(node.target), builder.expression(node.iter), builder.suite(node.body)
    is_async = builder.asynchronous(isinstance(node, ast.AsyncFor))
    return _for(target, over, body, _orelse(builder, node.orelse), is_async)


def _of_while(builder: Builder, node: ast.While) -> Any:
    return _while(builder.expression(node.test), builder.suite(node.body), _orelse(builder, node.orelse))


def _of_with(builder: Builder, node: ast.With | ast.AsyncWith) -> Any:
    items = []
    for item in node.items:
        name = None if item.optional_vars is None else _as(builder.expression(item.optional_vars))
        items.append(_with_item(builder.expression(item.context_expr), name))
    return _with(items, builder.suite(node.body), builder.asynchronous(isinstance(node, ast.AsyncWith)))


def _of_try(builder: Builder, node: Any) -> Any:
    starred = not isinstance(node, ast.Try)
    handlers = [_of_handler(builder, handler, starred) for handler in node.handlers]
    final = _finally(builder.suite(node.finalbody)) if node.finalbody else None
    make = _try_star if starred else _try
    return make(builder.suite(node.body), handlers, _orelse(builder, node.orelse), final)


def _of_handler(builder: Builder, node: ast.ExceptHandler, starred: bool) -> Any:
    name = None if node.name is None else _as(nodes.name(node.name))
    made = (_star_handler if starred else _handler)(builder.suite(node.body), builder.optional(node.type), name)
    builder.origin[id(made)] = node
    return made


def _of_match(builder: Builder, node: ast.Match) -> Any:
    cases = [_case(pattern(builder, c.pattern), builder.suite(c.body), builder.optional(c.guard)) for c in node.cases]
    return _match(builder.expression(node.subject), cases)


def _of_function(builder: Builder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    return builder.function(node)


def _of_class(builder: Builder, node: ast.ClassDef) -> Any:
    bases, keywords = builder.arguments(node.bases, ()), builder.arguments((), node.keywords)
    body, decorators = builder.suite(node.body), builder.decorators(node.decorator_list)
    return _class(nodes.name(node.name), body, bases, keywords, decorators)


def _of_other(_builder: Builder, _node: ast.stmt) -> Any:
    # ``type X = ...`` (Python 3.12) names an annotation, which runs nothing.
    return _pass()


#: What makes the node of each kind of statement that has no statements in it.
SIMPLE: dict[type[ast.stmt], Callable[[Builder, Any], Any]] = {
    ast.Expr: _of_expr, ast.Assign: _of_assign, ast.AnnAssign: _of_annotated, ast.AugAssign: _of_augmented,
    ast.Return: _of_return, ast.Raise: _of_raise, ast.Assert: _of_assert, ast.Delete: _of_del, ast.Pass: _of_pass,
    ast.Break: _of_break, ast.Continue: _of_continue, ast.Global: _of_global, ast.Nonlocal: _of_nonlocal,
    ast.Import: _of_import, ast.ImportFrom: _of_import_from,
}  # fmt: skip
if hasattr(ast, "TypeAlias"):
    SIMPLE[ast.TypeAlias] = _of_other
#: What makes the node of each kind of statement that has statements in it.
COMPOUND: dict[type[ast.stmt], Callable[[Builder, Any], Any]] = {
    ast.If: _of_if, ast.For: _of_for, ast.AsyncFor: _of_for, ast.While: _of_while, ast.With: _of_with,
    ast.AsyncWith: _of_with, ast.Try: _of_try, ast.Match: _of_match, ast.FunctionDef: _of_function,
    ast.AsyncFunctionDef: _of_function, ast.ClassDef: _of_class,
}  # fmt: skip
if hasattr(ast, "TryStar"):
    COMPOUND[ast.TryStar] = _of_try
