"""The places of nodes in the body of a function. Not a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from graphdoctor.static.usage.events import dotted
from graphdoctor.syntax.walk import children, find, walk

Loop = cst.For | cst.While

SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda)


class Places:
    """For the nodes of a body: the blocks around them and the statements after them."""

    def __init__(self, body: cst.CSTNode) -> None:
        self.body = body
        self.parents = _parents(body)
        #: By the places in the source.
        self.order = {node: number for number, node in enumerate(walk(body))}

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What ``node`` stands in, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def loop(self, call: cst.CSTNode) -> Loop | None:
        """The innermost loop whose rounds make the call."""
        below: cst.CSTNode = call
        for node in self.above(call):
            if isinstance(node, (cst.For, cst.While)) and below is node.body:
                return node
            below = node
        return None

    def following(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The statements after ``node``, one block after the other."""
        for around in self.above(node):
            if isinstance(around, (cst.IndentedBlock, cst.Module, cst.SimpleStatementLine)):
                statements = list(around.body)
                position = next(i for i, each in enumerate(statements) if each is node)
                yield from statements[position + 1 :]
                if statements and isinstance(statements[-1], cst.SimpleStatementLine) and _leaves(statements[-1]):
                    return
            node = around

    def has_backward(self, loop: Loop) -> bool:
        """Whether each round calls `backward()`."""
        return any(
            isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "backward"
            and not any(isinstance(node, (cst.If, *SCOPES)) for node in until(self.above(call), loop))
            for call in find(loop.body, cst.Call)
        )


def _parents(body: cst.CSTNode) -> dict[cst.CSTNode, cst.CSTNode]:
    found: dict[cst.CSTNode, cst.CSTNode] = {}
    stack = [body]
    while stack:
        node = stack.pop()
        for child in children(node):
            found[child] = node
            stack.append(child)
    return found


def until(nodes: Iterable[cst.CSTNode], end: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    for node in nodes:
        if node is end:
            return
        yield node


def _leaves(line: cst.SimpleStatementLine) -> bool:
    return isinstance(line.body[-1], (cst.Return, cst.Raise))


def ends(loop: Loop) -> bool:
    """Whether its first round is its last."""
    last = loop.body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, (cst.Break, cst.Return, cst.Raise)) or (isinstance(loop, cst.For) and is_one(loop.iter))


def is_one(iterated: cst.BaseExpression) -> bool:
    """Whether it surely has one element."""
    if isinstance(iterated, (cst.List, cst.Tuple)):
        return len(iterated.elements) < 2
    arg = iterated.args[0].value if isinstance(iterated, cst.Call) and len(iterated.args) == 1 else None
    named = dotted(iterated.func) if isinstance(iterated, cst.Call) else ""
    return named == "range" and isinstance(arg, cst.Integer) and arg.evaluated_value < 2


def is_constant(element: cst.SubscriptElement) -> bool:
    """Whether an index gives a view: numbers, texts, slices, `None`, `...`."""
    part = element.slice
    if isinstance(part, cst.Index):
        return _is_literal(part.value)
    bounds = (part.lower, part.upper, part.step) if isinstance(part, cst.Slice) else ()
    return all(bound is None or _is_literal(bound) for bound in bounds)


def _is_literal(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, (cst.Integer, cst.SimpleString, cst.Ellipsis)) or dotted(node) == "None"


def base(node: cst.BaseExpression | cst.BaseDelTargetExpression) -> str:
    """The name of the list or dict that an expression is, or is an element of."""
    return base(node.value) if isinstance(node, cst.Subscript) else dotted(node)


def else_body(node: cst.If) -> Sequence[cst.CSTNode]:
    """The statements of its `else`."""
    return node.orelse.body.body if isinstance(node.orelse, cst.Else) else ()


def shown(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """An expression, or those of a display."""
    if isinstance(node, (cst.Tuple, cst.List, cst.Dict)):
        yield from (each.value for each in node.elements)
    else:
        yield node
