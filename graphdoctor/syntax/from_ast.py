"""libcst nodes made from Python's own syntax tree: what carries meaning, and plain whitespace.

``ast.parse`` costs a tenth of libcst's parser, and the analysis reads neither whitespace nor comments. So what is only
read gets libcst's node classes from here, function bodies on first use, and every node keeps the syntax
node that it was made of, which knows where it stands. Rewrites use the tree of libcst's own parser (``written.py``).
Two nodes differ from the parser's: adjacent strings are one ``SimpleString`` or ``FormattedString``, and constants are
written as Python prints them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst

from graphdoctor.syntax import nodes
from graphdoctor.syntax.from_expressions import EXPRESSIONS, OTHER
from graphdoctor.syntax.from_statements import COMPOUND, SIMPLE
from graphdoctor.syntax.nodes import maker

#: Line, column, end line and end column, lines from 1 and columns in bytes, as ``ast`` counts them.
Span = tuple[int, int, int, int]
#: Where a node stands: in a node of ``ast``, or as a span.
Origin = ast.AST | Span

_function = maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous")
_decorator = maker(cst.Decorator, "decorator")
_asynchronous = maker(cst.Asynchronous)
_line = maker(cst.SimpleStatementLine, "body")
_parameters = maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params")
_bare_star = maker(cst.ParamStar)
_comp_for = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_comp_if = maker(cst.CompIf, "test")
_subscript_element = maker(cst.SubscriptElement, "slice")
_slice = maker(cst.Slice, "lower", "upper", "step")
_index = maker(cst.Index, "value", "star")
_left_out = nodes.block([])


class Builder:
    """Makes the nodes of one file. The bodies of functions are left out; ``body`` makes them on demand."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        #: Inside of a body nothing is left out.
        self._lazy = True
        #: What each node was made of, by its id.
        self.origin: dict[int, Origin] = {}

    def statements(self, body: list[ast.stmt]) -> list[Any]:
        """The statements of a block; simple ones that share a line are one ``SimpleStatementLine``."""
        made: list[Any] = []
        line: list[ast.stmt] = []
        for node in body:
            simple = type(node) in SIMPLE
            if line and (not simple or node.lineno != line[-1].end_lineno):
                made.append(self._line(line))
                line = []
            if simple:
                line.append(node)
            else:
                compound = COMPOUND[type(node)](self, node)
                self.origin[id(compound)] = node
                made.append(compound)
        if line:
            made.append(self._line(line))
        return made

    def body(self, function: cst.FunctionDef) -> cst.BaseSuite:
        """The body of a function of the tree, made now where it was left out."""
        if function.body is not _left_out:
            return function.body
        node = self.origin[id(function)]
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        self._lazy = False
        try:
            made: cst.BaseSuite = self.suite(node.body)
            return made
        finally:
            self._lazy = True

    def suite(self, body: list[ast.stmt]) -> Any:
        """An indented block, or what stands after the colon on the same line."""
        first = body[0]
        if type(first) in SIMPLE and self._follows_colon(first):
            made = nodes.suite(self._simple(body))
        else:
            made = nodes.block(self.statements(body))
        self.origin[id(made)] = span(first, body[-1])
        return made

    def _follows_colon(self, node: ast.stmt) -> bool:
        """Whether ``node`` stands on the line of the colon before it, which a backslash may break."""
        # The column counts bytes; characters of several bytes before it are not indentation.
        before = self._lines[node.lineno - 1][: node.col_offset]
        return bool(before.strip()) or (node.lineno > 1 and self._lines[node.lineno - 2].endswith("\\"))

    def _line(self, body: list[ast.stmt]) -> Any:
        made = _line(self._simple(body))
        self.origin[id(made)] = span(body[0], body[-1])
        return made

    def _simple(self, body: list[ast.stmt]) -> list[Any]:
        made = []
        for node in body:
            statement = SIMPLE[type(node)](self, node)
            self.origin[id(statement)] = node
            made.append(statement)
        return made

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        """A function; without its body where it is not part of another."""
        return _function(
            nodes.name(node.name),
            self.parameters(node.args),
            _left_out if self._lazy else self.suite(node.body),
            self.decorators(node.decorator_list),
            self.annotation(node.returns),
            self.asynchronous(isinstance(node, ast.AsyncFunctionDef)),
        )

    def asynchronous(self, is_async: bool) -> Any:
        """The word ``async`` where it stands there."""
        return _asynchronous() if is_async else None

    def decorators(self, found: list[ast.expr]) -> list[Any]:
        """What stands after the ``@`` of each line above a function or class."""
        return [_decorator(self.expression(node)) for node in found]

    def expression(self, node: ast.expr) -> Any:
        """The libcst expression of ``node``."""
        make: Callable[[Builder, Any], Any] = EXPRESSIONS.get(type(node), OTHER)
        made = make(self, node)
        self.origin[id(made)] = node
        return made

    def optional(self, node: ast.expr | None) -> Any:
        """The libcst expression of ``node`` where there is one."""
        return None if node is None else self.expression(node)

    def annotation(self, node: ast.expr | None) -> Any:
        """The annotation ``node`` where there is one."""
        return None if node is None else nodes.annotation(self.expression(node))

    def parameters(self, node: ast.arguments) -> Any:
        """Parameters with their defaults."""
        plain = [*node.posonlyargs, *node.args]
        defaults = [*[None] * (len(plain) - len(node.defaults)), *node.defaults]
        made = [self._parameter(a, d) for a, d in zip(plain, defaults, strict=True)]
        pairs = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        keywords = [self._parameter(a, d) for a, d in pairs]
        rest: Any = cst.MaybeSentinel.DEFAULT
        if node.vararg is not None:
            rest = self._parameter(node.vararg, None, "*")
        elif keywords:
            rest = _bare_star()
        double = None if node.kwarg is None else self._parameter(node.kwarg, None, "**")
        count = len(node.posonlyargs)
        return _parameters(made[count:], rest, keywords, double, made[:count])

    def _parameter(self, node: ast.arg, default: ast.expr | None, star: str = "") -> Any:
        name, annotation = nodes.name(node.arg), self.annotation(node.annotation)
        made = nodes.param(name, annotation, self.optional(default), star)
        # Without its annotation and default, as libcst has it.
        end = node.col_offset + len(node.arg.encode())
        self.origin[id(name)] = node.lineno, node.col_offset, node.lineno, end
        self.origin[id(made)] = node.lineno, node.col_offset - len(star), node.lineno, end
        return made

    def arguments(self, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> list[Any]:
        """Arguments of a call or bases of a class, in the order they stand in."""
        arguments: list[Any] = [*args, *keywords]
        if args and keywords and _start(keywords[0]) < _start(args[-1]):
            arguments.sort(key=_start)
        return [self._argument(node) for node in arguments]

    def _argument(self, node: ast.expr | ast.keyword) -> Any:
        if isinstance(node, ast.keyword):
            keyword = None
            if node.arg is not None:
                keyword = nodes.name(node.arg)
                end = node.col_offset + len(node.arg.encode())
                self.origin[id(keyword)] = node.lineno, node.col_offset, node.lineno, end
            made = nodes.arg(self.expression(node.value), keyword, "**" if keyword is None else "")
        elif isinstance(node, ast.Starred):
            made = nodes.arg(self.expression(node.value), None, "*")
        else:
            made = nodes.arg(self.expression(node), None, "")
        self.origin[id(made)] = node
        return made

    def elements(self, found: Iterable[ast.expr]) -> list[Any]:
        """What a tuple, list or set holds."""
        return [
            self.expression(node) if isinstance(node, ast.Starred) else nodes.element(self.expression(node))
            for node in found
        ]

    def loops(self, generators: Sequence[ast.comprehension]) -> Any:
        """The ``for`` clauses of a comprehension, each inside the one before."""
        inner = None
        for node in reversed(generators):
            tests = [_comp_if(self.expression(test)) for test in node.ifs]
            target, over = self.expression(node.target), self.expression(node.iter)
            inner = _comp_for(target, over, tests, inner, self.asynchronous(bool(node.is_async)))
        return inner

    def subscripts(self, node: ast.expr) -> list[Any]:
        """What stands between brackets."""
        parts = node.elts if isinstance(node, ast.Tuple) and not in_parentheses(self._lines, node) else [node]
        return [_subscript_element(self._index(part)) for part in parts]

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            made = _slice(self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        elif isinstance(node, ast.Starred):
            made = _index(self.expression(node.value), "*")
        else:
            made = _index(self.expression(node), None)
        self.origin[id(made)] = node
        return made

    def is_elif(self, node: ast.stmt) -> bool:
        """Whether ``node``, all that happens else, is an ``elif``."""
        return self._lines[node.lineno - 1].encode()[node.col_offset :].startswith(b"elif")


def _start(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def span(first: ast.expr | ast.stmt, last: ast.expr | ast.stmt) -> Span:
    """Where everything from ``first`` to ``last`` stands."""
    return first.lineno, first.col_offset, last.end_lineno or 0, last.end_col_offset or 0


def in_parentheses(lines: Sequence[str], node: ast.Tuple) -> bool:
    """Whether a tuple has parentheses of its own, which ``ast`` counts to it: ``(a), b`` begins with one that is not.

    One of those in front of its first element is then still open where the element ends.
    """
    if not node.elts:
        return True
    first = node.elts[0]
    if _start(first) == _start(node):
        return False
    before = _text(lines, _start(node), _start(first))
    after = _text(lines, _end(first), _end(node)).partition(",")[0]
    return before.count("(") > after.count(")")


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _text(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text between two places, without comments."""
    rows = [line.encode() for line in lines[start[0] - 1 : end[0]]]
    rows[-1] = rows[-1][: end[1]]
    rows[0] = rows[0][start[1] :]
    return "\n".join(row.decode().partition("#")[0] for row in rows)
