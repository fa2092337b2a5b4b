"""Each iteration of a loop compiles with a new backend.

What: `torch.compile(..., backend=...)` in a loop where the backend is a `lambda`, a `functools.partial`, or a
function that the loop defines.

Why: Compiled code is kept for its function and backend. A backend that is a new object in each iteration finds
nothing that is kept, so each iteration compiles again. `torch.compile(f)` in a loop with a backend
named by a string finds the code of the iteration before, and is not reported.

Fix: Compile before the loop, or make the backend once.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import COMPILE, Use
from graphdoctor.syntax.walk import walk

from ._shared import code

CODE = "GD608"
NAME = "backend-in-loop"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def g(x):
    return x + 1


for _ in range(3):
    compiled = torch.compile(g, backend=lambda graph, inputs: graph.forward)  # flagged
    compiled(torch.rand(2))


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def g(x):
    return x + 1


for _ in range(3):
    compiled = torch.compile(g, backend="eager")
    compiled(torch.rand(2))


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


def backend(graph, inputs):
    return graph.forward


for _ in range(3):
    compiled = torch.compile(g, backend=backend)
    compiled(torch.rand(2))


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    backend = step.kwargs.get("backend")
    if step.name not in COMPILE or backend is None or not step.loops:
        return None
    node = backend.node
    made = isinstance(node, cst.Lambda) or (
        backend.maker is not None
        and backend.made_by == "functools.partial"
        and len(backend.maker.loops) == len(step.loops)
    )
    defined = isinstance(node, cst.Name) and any(
        isinstance(n, cst.FunctionDef) and n.name.value == node.value for n in walk(step.loops[-1])
    )
    if not (made or defined):
        return None
    return Hit(
        event, f"{code(event)} makes a new backend in each iteration, so each compiles again", "compile before the loop"
    )
