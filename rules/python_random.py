"""Python's or numpy's random numbers in compiled code.

What: `random.random`, `choice`, `shuffle`, `sample`, `gauss`, `seed` and others; `numpy.random` functions
that give one number, its generators, and the distributions that Dynamo does not know (`beta`, `choice`,
`permutation`...).

Why: Dynamo does not trace them, or must read the number they give, and splits the graph. `random.randint`,
`randrange` and `uniform` are traced, as are `np.random.rand(4, 8)` and `randn` with a shape.

Fix: Draw with torch in the graph: `torch.rand(())`, `torch.randint`, `torch.randperm`; it also follows
`torch.manual_seed`. Or draw in the caller and pass the number as an argument.
"""

from __future__ import annotations

from graphdoctor.fixes.branch import branch_of
from graphdoctor.fixes.choose import first_fit
from graphdoctor.fixes.draws import traced_draw
from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.host import guard_host
from graphdoctor.static.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD403"
NAME = "python-random"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0156", "GB0033", "GB0294")
TORCH = ">=2.6"

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
)

CLEAN = (
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
)


def check_call(event: Call) -> Hit | None:
    if not (_python(event.qualname) or _numpy(event)):
        return None
    return Hit(
        event,
        f"{code(event)} draws outside the graph: {consequence(event)}",
        "draw with torch (`torch.rand`, `torch.randint`, `torch.randperm`), or pass the number as an argument",
        certainty(event),
    )


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
    if branch_of(hit.place, editor) is not None:
        return Refusal("The number decides a branch, which breaks even when the draw is traced.")
    return first_fit(hit, editor, traced_draw, guard_host)
