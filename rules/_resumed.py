"""What follows a graph break in the same function is compiled as a function of its own. Not a rule."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.events import Event
from graphdoctor.syntax.walk import find, walk

from ._shared import function_named

#: What may compute with tensors.
_COMPUTES = (cst.Call, cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.AugAssign, cst.Subscript)


def computes_nothing(event: Event) -> bool:
    """Whether the graph ended before ``event``, and nothing after that, up to the end of the function, computes.

    Dynamo keeps no code of a graph without operations, and so no guards: what changes there compiles nothing again.
    Where the graph ends in some calls only, as with a log every hundred steps, the others are compiled as a whole.
    Nothing is compiled either where the graph ended in a loop that is not over yet: the function runs as it is.
    """
    if _is_dropped(event):
        return True
    function, last = function_named(event), event.site.resumed
    if function is None or not event.site.resumes or not isinstance(last, (cst.SimpleStatementLine, cst.If)):
        return False
    # A loop goes back to what stands before.
    loops = [loop for kind in (cst.For, cst.While) for loop in find(function.body, kind)]
    if any(node is event.site.statement for loop in loops for node in walk(loop)):
        return False
    source, own = event.site.module, {id(node) for node in _own(event)}
    end = source.location(last.test if isinstance(last, cst.If) else last)
    later = (source.location(node) for kind in _COMPUTES for node in find(function.body, kind) if id(node) not in own)
    return not any((place.line, place.column) >= (end.end_line, end.end_column) for place in later)


def _is_dropped(event: Event) -> bool:
    """Whether the graph ended before ``event`` in the same loop, ``try`` or ``with`` of its function.

    Such a break drops the function, and not what it calls.
    """
    block, last, source = event.site.whole_frame, event.site.resumed, event.site.module
    if block is None or last is None or not event.site.resumes:
        return False
    is_own = (block.path, block.function) == (source.path, event.site.function)
    return is_own and source.location(last).line > block.line


def _own(event: Event) -> Iterator[cst.CSTNode]:
    """The nodes of the change itself: ``self.seen.append``, ``self.n += 1``, ``self.n = self.n + 1``."""
    yield event.node
    yield from walk(event.node.func if isinstance(event.node, cst.Call) else event.node)
    statement = event.site.statement
    for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(small, cst.AugAssign):
            yield small
        elif isinstance(small, cst.Assign):
            yield small.value
