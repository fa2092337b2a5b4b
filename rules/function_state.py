"""An attribute of a Python function is set in compiled code.

What: `wrapper.calls += 1` in a decorator that counts, `encode.cache = table`, on a function that stands outside of the
compiled code.

Why: Dynamo follows what is read of a function's attributes, and what is put into a list or dict that one of them holds.
Before torch 2.14 it records no assignment to an attribute of a function.

Fix: Count or cache outside of the compiled function, or keep the value in a list or dict: `state["calls"] += 1` runs in
one graph, and compiles again with each new number.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import SetAttr
from graphdoctor.static.domain.values import Function
from graphdoctor.static.rule import Hit

from ._shared import certainty, consequence

CODE = "GD410"
NAME = "function-state"
SEVERITY = "error"
GB_IDS = ("GB0467",)
TORCH = ">=2.6,<2.14"

BREAKS = (
    """\
def scale(x):
    scale.calls += 1  # GB0467
    return x * 2


scale.calls = 0


def f(x):
    return scale(x) + 1
""",
    """\
import functools


def counted(function):
    @functools.wraps(function)
    def wrapper(*args):
        wrapper.calls += 1  # GB0467
        return function(*args)

    wrapper.calls = 0
    return wrapper


@counted
def scale(x):
    return x * 2


def f(x):
    return scale(x) + 1
""",
    """\
def scale(x):
    setattr(scale, "last", x.shape[0])  # GB0467
    return x * 2


def f(x):
    return scale(x) + 1
""",
)

CLEAN = (
    """\
def scale(x):
    return x * scale.factor


scale.factor = 2


def f(x):
    return scale(x) + 1
""",
    """\
# torch >=2.9,<2.14
def f(x):
    def scale(x):
        return x * scale.factor

    scale.factor = 2
    return scale(x) + 1
""",
    """\
def scale(x):
    scale.seen["x"] = x.shape
    return x * 2


scale.seen = {}


def f(x):
    return scale(x) + 1
""",
    """\
def counted(function):
    def wrapper(*args):
        return function(*args)

    wrapper.calls = 0
    return wrapper


@counted
def scale(x):
    return x * 2


def f(x):
    return scale(x) + scale.calls
""",
)


def check_setattr(event: SetAttr) -> Hit | None:
    target = event.receiver
    if not isinstance(target, Function) or target.info.qualname.startswith(f"{event.site.function}."):
        # A function that the compiled code defines itself keeps what is set.
        return None
    return Hit(
        event,
        f"`{event.name}` is set on the function `{target.info.name}`, which Dynamo does not record",
        "keep it outside of the compiled code, or in a list or dict",
        certainty(event),
        consequence=consequence(event),
    )
