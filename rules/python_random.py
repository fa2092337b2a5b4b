"""Python's or numpy's random numbers in compiled code.

What: `random.random`, `choice`, `shuffle`, `sample`, `gauss`, `seed` and others; `numpy.random` functions
that give one number, its generators, and the distributions that Dynamo does not know (`beta`, `choice`,
`permutation`...). And a branch on a number that any of them draws, arithmetic with it (`t + 1`, `x.shape[0] - t`),
and what needs the number itself: `int(t)`, `math.sqrt(t)`, `range(t)`, an index, a size.

Why: Dynamo does not trace such a call, or has to read the number that it gives, and splits the graph. Python's own
`random.randint`, `randrange` and `uniform` are traced, as are `np.random.rand(4, 8)` and `randn` with a shape. A number
that is traced is an input of the graph, another one in each call, so a branch on it splits the graph too, and so does
`t + 1`, for Dynamo takes the number for a tensor there; `x * t` is traced.

Fix: Draw with torch in the graph: `torch.rand(())`, `torch.randint`, `torch.randperm`; it also follows
`torch.manual_seed`. Or draw in the caller and pass the number as an argument.
"""

from __future__ import annotations

from itertools import dropwhile

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.scope import assignments, names
from graphdoctor.fixes.python.array_operators import array_as_operator
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.operators import choose_by_operator, number_as_operator
from graphdoctor.fixes.tensors.random_numbers import choose_by_draw, only_decides, traced_choice, traced_draw
from graphdoctor.static.domain.events import Call, NeedDrawn
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

from ._shared import certainty, code, consequence

CODE = "GD403"
NAME = "python-random"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0156", "GB0033", "GB0294", "GB0170", "GB0213", "GB4841", "GB0124", "GB0178")
TORCH = ">=2.6"

_DRAW = "draw with torch (`torch.rand`, `torch.randint`, `torch.randperm`), or pass the number as an argument"
_DRAW_BEFORE = "draw it before the compiled code is called, and pass the number as an argument"
_SELECT = "draw with torch, and select with `torch.where`; or draw in the caller, and pass the number as an argument"

#: Functions of ``random`` that Dynamo traces (torch 2.13, torch/_dynamo/variables/functions.py and user_defined.py).
TRACED = ("randint", "randrange", "uniform", "Random")
#: The same for an object of ``random.Random``, which may also give ``random()``.
TRACED_METHODS = ("randint", "randrange", "uniform", "random", "seed", "getstate", "setstate")
#: Functions of ``numpy.random`` that are traced when they give an array.
ARRAYS = ("rand", "randn", "random", "random_sample", "standard_normal", "normal", "uniform", "randint")
#: Of those, the ones whose arguments are nothing but the shape.
SHAPE_ONLY = ("rand", "randn", "random", "random_sample", "standard_normal")

BREAKS = (
    """\
import random

import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        drawn = random.uniform(0, 1)
        if self.training and (drawn < 0.5):  # GB0170
            return x
        return x * 2


def graphdoctor_target():
    import torch

    return Net().train(), (torch.rand(4, 8),)
""",
    """\
import random


def f(x):
    if random.random() < 0.5:  # GB0007
        return x
    return x * 2
""",
    """\
import random


def f(x):
    return x * random.choice([1, 2, 3])  # GB0007
""",
    """\
import random

rng = random.Random(0)


def f(x):
    return x * rng.choice([1, 2, 3])  # GB0156
""",
    """\
import numpy as np


def f(x):
    if np.random.rand() < 0.5:  # GB0033
        return x
    return x * 2
""",
    """\
import numpy as np


def f(x):
    mix = np.random.beta(0.2, 0.2)  # GB0294
    return mix * x + (1 - mix) * x.flip(0)
""",
    """\
import numpy as np


def f(x):
    rng = np.random.default_rng(0)  # GB0294
    return x * 2
""",
    """\
import random


def f(x):
    if random.uniform(0, 1) < 0.5:  # GB0170
        x = x + 1
    return x * 2
""",
    """\
import random


def f(x):
    p = random.uniform(0, 1)
    return x * 2 if p < 0.5 else x  # GB0170
""",
    """\
import random

rng = random.Random(0)


def f(x):
    side = rng.randint(0, 1)
    if side:  # GB0170
        x = x + 1
    return x * 2
""",
    """\
import random


def f(x, move=None):
    if move is None:
        move = random.randint(-3, 3)
    if move == 0:  # GB0170
        return x
    return x * move
""",
    """\
import random


def f(x, width=3):
    start = random.randint(0, x.shape[1] - width)
    y = x.clone()
    y[:, start : start + width] = 0  # GB0213
    return y
""",
    """\
import random


def f(x):
    rounds = random.randint(1, 3)
    for _ in range(rounds):  # GB4841
        x = x * 2
    return x
""",
    """\
import random


def f(x):
    shift = random.uniform(0, 1)
    return x + (shift + 1)  # GB0213
""",
    """\
import random


def f(x):
    start = random.randint(0, 2)
    return x[start:] * 2  # GB0124
""",
    """\
import random


def f(x):
    width = random.randint(1, 3)
    start = random.randint(0, x.shape[1] - width)  # GB0213
    return x * start
""",
    """\
import random


def f(x):
    scale = random.uniform(0.5, 1.5) * (x.shape[0] // 2)  # GB0213
    return x * scale
""",
    """\
import random


def f(x):
    x = x * 2
    rounds = int(random.uniform(1, 4))  # GB0178
    return x * rounds
""",
)

CLEAN = (
    """\
import random

import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        drawn = random.uniform(0, 1)
        if self.training and x.shape[0] > 2:
            return x * drawn
        return x * 2


def graphdoctor_target():
    import torch

    return Net().train(), (torch.rand(4, 8),)
""",
    """\
import torch


def f(x):
    return torch.where(torch.rand(()) < 0.5, x, x * 2)
""",
    """\
import random


def f(x):
    return x * random.randint(0, 3) + random.uniform(0.0, 1.0) + random.randrange(3)
""",
    """\
import numpy as np


def f(x):
    return x + np.random.rand(4, 8) + np.random.randn(4, 8)
""",
    """\
import numpy as np


def f(x):
    return x + np.random.normal(0.0, 1.0, (4, 8))
""",
    """\
import random

rng = random.Random(0)


def f(x):
    return x * rng.random() + rng.randint(0, 3)
""",
    """\
import torch


def f(x):
    order = torch.randperm(4)
    return x[order] * torch.randint(0, 3, (4, 1))
""",
    """\
import random

CHOICE = random.choice([1, 2, 3])


def f(x):
    return x * CHOICE
""",
    """\
# torch >=2.13
import random


def f(x):
    scale = random.uniform(0.8, 1.2)
    assert scale > 0
    if x.shape[0] > 2:
        x = x + scale
    return x * scale
""",
    """\
import random

FLIP = random.uniform(0, 1) < 0.5


def f(x):
    if FLIP:
        x = x.flip(0)
    return x * random.uniform(0, 1)
""",
    """\
import random


def f(x):
    count = random.randint(1, 3)
    return x if x.ndim > 3 else x * count
""",
    """\
import random


def f(x, move=None):
    if move is None:
        move = random.randint(-3, 3)
    return x if move is None else x * move
""",
    """\
import random


def f(x):
    sign = random.randint(0, 2)
    return x[:2].sum() * sign
""",
    """\
import random


def f(x, width=3):
    start = random.randint(0, 2)
    return x * start + width
""",
    """\
import random


def f(x):
    count = random.randint(0, 2)
    count = 3
    return x * (count + 1) + sum(range(count))
""",
    """\
import random


def f(x):
    scale = random.uniform(0, 1)
    return x * scale + int(x.shape[0]) * 2
""",
    """\
import random


def f(x):
    first, second = random.randint(1, 3), random.uniform(0, 1)
    return x * first * 2 + min(first, 2) * x + abs(second) * x
""",
    """\
# torch >=2.13
import random


def f(x):
    rounds = random.randint(1, 3)
    few = rounds < 2
    return x * rounds * few
""",
    """\
import random


def f(x):
    every = [random.uniform(0, 1) for _ in range(2)]
    return x * every[0] + x * every[1]
""",
)


def watches(name: str) -> bool:
    return name.startswith(("random.", "numpy.random."))


def check_call(event: Call) -> Hit | None:
    if event.qualname == "numpy.random.shuffle" and _is_array(event):
        # Of an array it is traced (``torch._numpy.random``), of a list it is not.
        return None
    if not (_python(event.qualname) or _numpy(event)):
        return None
    return Hit(
        event,
        f"{code(event)} draws outside the graph",
        _SELECT if _decided(event) is not None else _DRAW,
        certainty(event),
        consequence=consequence(event),
    )


def _is_array(event: Call) -> bool:
    first = tensor_of(event.args[0]) if event.args else None
    return first is not None and first.numpy


def check_needdrawn(event: NeedDrawn) -> Hit:
    if event.decides:
        message, advice = f"{code(event)} is decided by a number from Python's `random`", _SELECT
    else:
        message, advice = f"{code(event)} needs the value of a number from Python's `random`", _DRAW_BEFORE
    return Hit(
        event,
        message,
        advice,
        certainty(event) if event.sure else "likely",
        consequence=consequence(event),
    )


def _decided(event: Call) -> cst.BaseExpression | None:
    """The test that a draw decides: by itself, or through the one name that it is given."""
    statement, call = event.site.statement, event.node
    test = next((t for t in _tests(statement) if call in set(walk(t))), None)
    if test is not None:
        return test
    name, following = _drawn(event)
    tests = (node.test for node in following if isinstance(node, (cst.If, cst.While, cst.IfExp)))
    return next((t for t in tests if name in names(t) and not _asks_identity(t)), None)


def _drawn(event: Call) -> tuple[str, list[cst.CSTNode]]:
    """The one name that a draw is given, and the nodes of its function after it; none without such a name."""
    name, function = _bound_name(event.site.statement, event.node), _function_around(event)
    if name is None or function is None or len(assignments(function, name)) != 1:
        return "", []
    inside = set(walk(event.site.statement))
    following = dropwhile(lambda node: node is not event.site.statement, walk(function.body))
    return name, [node for node in following if node not in inside]


def _asks_identity(test: cst.BaseExpression) -> bool:
    """Whether a test only asks for an object, ``move is None``, and not for what it holds."""
    return isinstance(test, cst.Comparison) and all(
        isinstance(c.operator, (cst.Is, cst.IsNot)) for c in test.comparisons
    )


def _tests(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """What is asked for its truth in ``node``; of an ``if`` or ``while`` itself only the test, not its blocks."""
    if isinstance(node, (cst.If, cst.While)):
        return [node.test]
    return [n.test for n in walk(node) if isinstance(n, (cst.If, cst.While, cst.IfExp))]


def _bound_name(statement: cst.CSTNode, value: cst.CSTNode) -> str | None:
    """The name in ``name = value``."""
    for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(small, cst.Assign) and small.value is value and isinstance(small.targets[0].target, cst.Name):
            return small.targets[0].target.value
    return None


def _function_around(event: Call) -> cst.FunctionDef | None:
    """The innermost function that holds the statement of ``event``."""
    module, statement = event.site.module, event.site.statement
    line = module.location(statement).line
    top = next((s for s in module.tree.body if module.location(s).line <= line <= module.location(s).end_line), None)
    functions = [n for n in walk(top) if isinstance(n, cst.FunctionDef)] if top is not None else []
    return next((f for f in reversed(functions) if any(n is statement for n in walk(f))), None)


def _python(qualname: str) -> bool:
    package, _, name = qualname.rpartition(".")
    if package == "random":
        return name not in TRACED
    return package == "random.Random" and name not in TRACED_METHODS


def _numpy(event: Call) -> bool:
    package, _, name = event.qualname.rpartition(".")
    if package == "numpy.random.default_rng":
        return True
    if package != "numpy.random" or name == "seed":
        return False
    if name not in ARRAYS:
        return True
    shaped = "size" in event.kwargs or len(event.args) > (0 if name in SHAPE_ONLY else 2)
    return not shaped


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.event, NeedDrawn) and not hit.event.decides:
        return Refusal("The trace needs the number itself, which only a draw outside of it has.")
    plan = first_fit(hit, editor, choose_by_draw, choose_by_operator, array_as_operator)
    if isinstance(plan, FixPlan):
        return plan
    if not isinstance(hit.place, cst.Call) or only_decides(hit.place, editor):
        return Refusal("The number decides a branch, which breaks even when the draw is traced.")
    if isinstance(hit.event, Call) and hit.event.qualname.endswith(".shuffle"):
        return Refusal("It reorders its argument, which compiled code needs too.")
    return first_fit(hit, editor, traced_draw, traced_choice, guard_host, number_as_operator)
