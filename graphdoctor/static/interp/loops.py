"""Loops and comprehensions: the body is interpreted once for each known item.

Where the items are unknown, it is interpreted once, and again where a second iteration starts with other values.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import Specialise
from graphdoctor.static.domain.frames import Names
from graphdoctor.static.domain.program import Scope
from graphdoctor.static.domain.value_functions import as_arguments, join
from graphdoctor.static.domain.values import UNKNOWN, Const, Mapping, Seq, Tensor, Value
from graphdoctor.static.interp import assignments, conditions, expressions, iteration, statements
from graphdoctor.static.interp.interpreter import Interpreter, merge
from graphdoctor.syntax.walk import walk

#: Comparisons of two numbers.
_ORDERS = {cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual, cst.Equal, cst.NotEqual}


def run_for(interpreter: Interpreter, node: cst.For) -> bool:
    """Interpret a ``for`` loop."""
    graph_ends = interpreter.graph_ends
    over = expressions.evaluate(interpreter, node.iter)
    if interpreter.region_facts.has_dynamic_sizes and isinstance(over, Tensor):
        interpreter.emit(Specialise, node.iter, how="iterate")
    items, element = iteration.elements(interpreter, node.iter, over)
    if interpreter.graph_ends != graph_ends:
        interpreter.continue_in_new_graph()
    if items is not None and not items:
        return node.orelse is None or statements.run_block(interpreter, node.orelse.body)
    if items is not None and len(items) <= 8:
        return _loop(interpreter, node, list(items), sure=True)
    return _loop(interpreter, node, [element, element])


def run_while(interpreter: Interpreter, node: cst.While) -> bool:
    """Interpret a ``while`` loop."""
    falls = _loop(interpreter, node, [None])
    endless = type(node.test) is cst.Name and node.test.value == "True"
    return falls and not (endless and not _has_break(node.body))


def _has_break(block: cst.BaseSuite) -> bool:
    inner = (cst.For, cst.While, cst.FunctionDef, cst.ClassDef)
    return any(type(node) is cst.Break for node in walk(block, stop=inner))


def _loop(interpreter: Interpreter, node: cst.For | cst.While, bind: list[Value | None], sure: bool = False) -> bool:
    """Interpret the body once per entry of ``bind``; None: up to twice, since one iteration may change what the next
    starts with.

    ``sure``: each iteration runs, unless an earlier one ended the loop.
    """
    frame = interpreter.frame
    saved, frame.exits = frame.exits, []
    outer, frame.loops = frame.loops, (*frame.loops, node)
    rounds = bind if bind != [None] else [None, None]
    started: tuple[Value | None, Names, int] | None = None
    with interpreter.path(whole_frame=node):
        for value in rounds:
            before = interpreter.snapshot()
            same = started is not None and value == started[0] and interpreter.stores.new_kinds == started[2]
            if same and started is not None and _would_repeat(node, before, started[1]):
                continue
            started = value, before, interpreter.stores.new_kinds
            if type(node) is cst.For and value is not None:
                assignments.assign(interpreter, node.target, value)
            if type(node) is cst.While:
                conditions.ask(interpreter, node.test, "while", node)
                conditions.narrow(interpreter, node.test, positive=True)
            falls = statements.run_block(interpreter, node.body)
            ends = [interpreter.snapshot()] if falls else []
            if not sure or not (ends or frame.exits):
                ends.append(before)
            interpreter.restore(merge(*ends, *frame.exits))
            frame.exits = []
    frame.exits, frame.loops = saved, outer
    if node.orelse is not None:
        return statements.run_block(interpreter, node.orelse.body)
    return True


def _would_repeat(node: cst.For | cst.While, now: Names, before: Names) -> bool:
    """Whether an iteration that starts with the names ``now`` does the same as one that started with ``before``."""
    # ``Tensor.argument`` is ignored: it changes once at most, and no rule needs the second iteration for it.
    if not all(v is now.get(n) or as_arguments(v) == as_arguments(now.get(n, UNKNOWN)) for n, v in before.items()):
        return False
    new = now.keys() - before.keys()
    return not new or new.isdisjoint(_read_first(node))


def _read_first(node: cst.For | cst.While) -> set[str]:
    """Names that an iteration may read before it binds them."""
    bound = _names(node.target) if isinstance(node, cst.For) else set[str]()
    read = _names(node.test) if isinstance(node, cst.While) else set[str]()
    for statement in node.body.body:
        only = statement.body[0] if type(statement) is cst.SimpleStatementLine and len(statement.body) == 1 else None
        if type(only) is cst.Assign:
            read |= _names(only.value) - bound
            for target in only.targets:
                if type(target.target) in (cst.Name, cst.Tuple):
                    bound |= _names(target.target)
        else:
            read |= _names(statement) - bound
    return read


def _names(node: cst.CSTNode) -> set[str]:
    return {child.value for child in walk(node) if type(child) is cst.Name}


def is_met(loops: tuple[cst.For | cst.While, ...], test: cst.BaseExpression) -> bool:
    """Whether ``test`` compares the counter of the innermost loop, so that it is true in some iterations.

    ``k > 1`` in ``for k in range(n)``.
    """
    loop = loops[-1] if loops else None
    if type(loop) is not cst.For or type(loop.target) is not cst.Name or type(test) is not cst.Comparison:
        return False
    operators = {type(part.operator) for part in test.comparisons}
    counted = _names(loop.iter)
    return (
        operators <= _ORDERS
        and "range" in counted
        and loop.target.value in (asked := _names(test))
        and asked <= counted | {loop.target.value}
    )


class _Comprehension:
    """Collects the items of a comprehension. A class, because a nested recursive function is a reference cycle."""

    def __init__(
        self, interpreter: Interpreter, node: cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp
    ) -> None:
        self.interpreter = interpreter
        self.node = node
        self.collected: list[Value] = []
        self.exact = True

    def clause(self, part: cst.CompFor) -> None:
        """Interpret a ``for``, and the clauses inside it."""
        interpreter = self.interpreter
        items, element = iteration.elements(interpreter, part.iter, expressions.evaluate(interpreter, part.iter))
        if items is None or len(items) > 8:
            self.exact = False
            rounds: tuple[Value, ...] = (element,)
        else:
            rounds = tuple(items)
        for value in rounds:
            assignments.assign(interpreter, part.target, value)
            verdicts = []
            for test in part.ifs:
                verdicts.append(conditions.ask(interpreter, test.test, "comprehension", self.node).verdict)
                conditions.narrow(interpreter, test.test, positive=True)
            if False in verdicts:
                continue
            self.exact = self.exact and None not in verdicts
            if part.inner_for_in is not None:
                self.clause(part.inner_for_in)
            elif isinstance(self.node, cst.DictComp):
                key = expressions.evaluate(interpreter, self.node.key)
                self.collected.append(Seq("tuple", (key, expressions.evaluate(interpreter, self.node.value))))
            else:
                self.collected.append(expressions.evaluate(interpreter, self.node.elt))


def comprehension(
    interpreter: Interpreter, node: cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp
) -> Value:
    """The value of a comprehension, item by item where its items are known and few."""
    frame = interpreter.frame
    outer = frame.scope
    frame.scope = Scope("function", {}, outer)
    made = _Comprehension(interpreter, node)
    try:
        made.clause(node.for_in)
    finally:
        frame.scope = outer
    collected, exact = made.collected, made.exact
    kind = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "generator", cst.DictComp: "dict"}[type(node)]
    if type(node) is cst.DictComp:
        pairs = [c.items for c in collected if isinstance(c, Seq) and c.items]
        if exact and all(isinstance(k, Const) for k, _ in pairs):
            return Mapping(tuple((k.value, v) for k, v in pairs if isinstance(k, Const)))
        return Mapping((), join(*(v for _, v in pairs)) if pairs else UNKNOWN)
    if exact and kind != "set":
        return Seq(kind, tuple(collected))
    return Seq(kind, None, join(*collected) if collected else UNKNOWN)
