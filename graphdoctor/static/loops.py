"""Loops: the body runs once for each known item, else once more where a second round starts with other values."""

from __future__ import annotations

import libcst as cst

from graphdoctor.source.walk import walk
from graphdoctor.static import assignments, conditions, expressions, iterate, statements
from graphdoctor.static.events import Specialise
from graphdoctor.static.machine import Machine, Names, merge
from graphdoctor.static.values import UNKNOWN, Tensor, Value, as_arguments


def run_for(machine: Machine, node: cst.For) -> bool:
    """Interpret a ``for`` loop."""
    restarts = machine.restarts
    over = expressions.evaluate(machine, node.iter)
    if machine.dynamic and isinstance(over, Tensor):
        machine.emit(Specialise, node.iter, how="iterate")
    items, element = iterate.elements(machine, node.iter, over)
    machine.resume(restarts)
    if items is not None and not items:
        return node.orelse is None or statements.run_block(machine, node.orelse.body)
    if items is not None and len(items) <= 8:
        return _loop(machine, node, list(items), sure=True)
    return _loop(machine, node, [element, element])


def run_while(machine: Machine, node: cst.While) -> bool:
    """Interpret a ``while`` loop."""
    falls = _loop(machine, node, [None])
    endless = type(node.test) is cst.Name and node.test.value == "True"
    return falls and not (endless and not _has_break(node.body))


def _has_break(block: cst.BaseSuite) -> bool:
    inner = (cst.For, cst.While, cst.FunctionDef, cst.ClassDef)
    return any(type(node) is cst.Break for node in walk(block, stop=inner))


def _loop(machine: Machine, node: cst.For | cst.While, bind: list[Value | None], sure: bool = False) -> bool:
    """Run the body once per entry of ``bind`` (None: twice, for what one round leaves for the next).

    ``sure`` where each round surely runs, unless one before it ended the loop.
    """
    frame = machine.frame
    saved, frame.exits = frame.exits, []
    outer, frame.loops = frame.loops, (*frame.loops, node)
    rounds = bind if bind != [None] else [None, None]
    started: tuple[Value | None, Names] | None = None
    with machine.path(whole_frame=True):
        for value in rounds:
            before = machine.snapshot()
            if started is not None and value == started[0] and _would_repeat(node, before, started[1]):
                continue
            started = value, before
            if type(node) is cst.For and value is not None:
                assignments.assign(machine, node.target, value)
            if type(node) is cst.While:
                conditions.ask(machine, node.test, "while", node)
                conditions.narrow(machine, node.test, positive=True)
            falls = statements.run_block(machine, node.body)
            ends = [machine.snapshot()] if falls else []
            if not sure or not (ends or frame.exits):
                ends.append(before)
            machine.restore(merge(*ends, *frame.exits))
            frame.exits = []
    frame.exits, frame.loops = saved, outer
    if node.orelse is not None:
        return statements.run_block(machine, node.orelse.body)
    return True


def _would_repeat(node: cst.For | cst.While, now: Names, before: Names) -> bool:
    """Whether a round that starts with the names ``now`` would do what the one did that started with ``before``."""
    # That a tensor is no longer an argument of the function is no reason to go round again.
    if not all(v is now.get(n) or as_arguments(v) == as_arguments(now.get(n, UNKNOWN)) for n, v in before.items()):
        return False
    new = now.keys() - before.keys()
    return not new or new.isdisjoint(_read_first(node))


def _read_first(node: cst.For | cst.While) -> set[str]:
    """Names that a round may read before it binds them."""
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
