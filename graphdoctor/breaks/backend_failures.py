"""What a backend failed on: Dynamo captured the graph, so it is no graph break, and no line of the code is at fault."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphdoctor.breaks.grouping import RawEvent, user_stack
from graphdoctor.breaks.locations import Places
from graphdoctor.breaks.messages import one_line
from graphdoctor.model.runs import Ladder, Stage

#: What Dynamo makes of an exception of a backend (torch/_dynamo/exc.py), and what is made of one of Inductor's own.
_FAILURES = frozenset({"BackendCompilerFailed", "InductorError"})
_NAMED = re.compile(r"""backend=(['"])(.*?)\1 raised:\s*""")
#: Where an object without a name lies in memory, which is another place in each process.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_CPP_ERRORS = ("CppCompileError", "InvalidCxxCompiler")


def is_backend_failure(event: RawEvent) -> bool:
    """Whether ``event`` is a call that ended because the backend raised."""
    return event.kind == "raise" and event.error in _FAILURES


def layer_of_inductor(text: str) -> str:
    """Which part of Inductor an error with this text comes from."""
    return "Inductor (C++ compiler)" if any(name in text for name in _CPP_ERRORS) else "Inductor"


def failed_backends(events: Iterable[RawEvent], places: Places) -> Ladder | None:
    """A failed stage for each graph that a backend failed on; None where none did."""
    stages = (_stage(event, places) for event in events if is_backend_failure(event))
    found = tuple(dict.fromkeys(stages))
    return Ladder(found) if found else None


def _stage(event: RawEvent, places: Places) -> Stage:
    named = _NAMED.search(event.message)
    raised = event.message[named.end() :] if named else event.message.partition(f"{event.error}: ")[2] or event.message
    name = _ADDRESS.sub("", named[2]) if named else "inductor"
    layer = layer_of_inductor(raised) if name == "inductor" else None
    stack = user_stack(event, places)
    graph = f", on the graph at {places.show(stack[-1].path)}:{stack[-1].line}" if stack else ""
    return Stage(name, "failed", layer, one_line(raised, 160) + graph)
