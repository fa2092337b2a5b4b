"""A `print` call in compiled code.

What: `print(...)` and `pprint` in a function that `torch.compile` traces, whatever the arguments are.

Why: Printing is a side effect that cannot be put into a graph. Dynamo compiles what stands before the call,
runs the call in Python, and compiles the rest as a second graph; inside a loop or a try block nothing of the
function is compiled. Kernels cannot be fused across the call, and each graph adds launch overhead.

Fix: Remove the call, put it under `if not torch.compiler.is_compiling():`, or print outside the compiled
function. `torch._higher_order_ops.print("{}", t)` prints from within the graph (torch 2.10 or later).
"""

from __future__ import annotations

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.guard import guard_statement
from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD101"
NAME = "print-in-graph"
SEVERITY = "error"
GB_IDS = ("GB0059", "GB0156")
TORCH = ">=2.6"

BREAKS = (
    """\
def f(x):
    h = x.relu()
    print(h.shape)  # GB0059
    return h * 2
""",
    """\
import sys


def f(x):
    print(f"mean: {x.mean()}", file=sys.stderr)  # GB0059
    return x * 2
""",
    """\
def f(x):
    for step in range(2):
        x = x + step
        print(step)  # GB0059 GB7000
    return x
""",
    """\
from pprint import pprint


def f(x):
    pprint(x.shape)  # GB0156
    return x * 2
""",
    """\
def f(x):
    try:
        scale = {"a": 1}["b"]
    except KeyError:
        print("no scale")  # GB0059
        scale = 2
    return x * scale
""",
)

CLEAN = (
    """\
def f(x):
    try:
        scale = {"a": 1}["a"]
    except KeyError:
        print("no scale")
        scale = 2
    return x * scale
""",
    """\
import torch


def f(x):
    h = x.relu()
    if not torch.compiler.is_compiling():
        print(h.shape)
    return h * 2
""",
    """\
DEBUG = False


def f(x):
    h = x.relu()
    if DEBUG:
        print(h.shape)
    return h * 2
""",
    """\
# torch >=2.11
import torch


def f(x):
    torch._higher_order_ops.print("{}", x.sum())
    return x * 2
""",
    """\
class Report:
    def print(self, text):
        return None


def f(x):
    Report().print("a method of that name")
    return x * 2
""",
    """\
def f(x):
    message = f"mean: {x.mean()}"
    return x * 2
""",
)


def watches(name: str) -> bool:
    return name in ("builtins.print", "pprint.pprint", "pprint.pp")


def check_call(event: Call) -> Hit | None:
    return Hit(
        event,
        f"{code(event)} in compiled code",
        "remove it, or put it under `if not torch.compiler.is_compiling():`",
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return guard_statement(hit, editor)
