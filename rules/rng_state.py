"""The random generator's state is set or read in compiled code.

What: `torch.manual_seed`, `torch.cuda.manual_seed`, `get_rng_state`, `set_rng_state`, `initial_seed`,
`torch.Generator()`, a generator's methods, and `generator=` in a random function.

Why: A graph draws its random numbers itself; the generator objects are not traced, and each of these calls
splits the graph.

Fix: Seed in the program that calls the model. Draw reproducible noise outside and pass it as an argument.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import NONE, ExternalObject, Value
from graphdoctor.static.rule import Hit

from ._shared import certainty, code, consequence

CODE = "GD503"
NAME = "rng-state"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0055", "GB0208", "GB0363", "GB7650")
TORCH = ">=2.6"

PACKAGES = ("torch", "torch.random", "torch.cuda", "torch.cuda.random", "torch.mps", "torch.xpu")
FUNCTIONS = (
    "manual_seed", "manual_seed_all", "initial_seed", "get_rng_state", "get_rng_state_all",
    "set_rng_state", "set_rng_state_all", "Generator",
)  # fmt: skip

#: Functions of a GPU that a graph may hold before torch 2.13.
_ON_A_GPU = ("manual_seed", "manual_seed_all")

BREAKS = (
    """\
import torch


def f(x):
    torch.manual_seed(0)  # GB0007
    return x + torch.rand(8)
""",
    """\
import torch


def f(x):
    state = torch.get_rng_state()  # GB0007
    return x * 2
""",
    """\
import torch


def f(x):
    seed = torch.initial_seed()  # GB0208
    return x * 2
""",
    """\
import torch


def f(x):
    generator = torch.Generator()  # GB0363
    return x * 2
""",
    """\
import torch

generator = torch.Generator()


def f(x):
    return x + torch.rand(4, 8, generator=generator)  # GB0055
""",
    """\
import torch

generator = torch.Generator()


def f(x):
    generator.manual_seed(0)  # GB7650
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def f(x, generator: torch.Generator | None = None):
    return x + torch.rand(8, generator=generator)
""",
    """\
import torch

torch.manual_seed(0)


def f(x):
    return x + torch.rand(8)
""",
    """\
import torch


def f(x):
    return x + torch.rand(4, 8, generator=None)
""",
    """\
import torch


def f(x, noise):
    return x + noise


def graphdoctor_target():
    generator = torch.Generator().manual_seed(0)
    return f, (torch.rand(4, 8), torch.rand(4, 8, generator=generator))
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return self.lin(x)
""",
    """\
import torch.nn.functional as F


def f(x):
    return F.dropout(x, 0.5, training=True).bernoulli_(0.5)
""",
    """\
import torch


def f(x):
    return torch.normal(0.0, 1.0, (4, 8)) + torch.randn_like(x)
""",
    """\
import torch


def f(x):
    if not torch.compiler.is_compiling():
        torch.manual_seed(0)
    return x + torch.rand(8)
""",
)


def watches(name: str) -> bool:
    return not name.startswith("builtins.") and not name.endswith(".forward")


def check_call(event: Call) -> Hit | None:
    package, _, name = event.qualname.rpartition(".")
    sets_state = name in FUNCTIONS and (
        package in PACKAGES or package in ("torch.Generator", "torch.default_generator")
    )
    if not sets_state and not _is_generator(event.kwargs.get("generator")):
        return None
    passed = event.kwargs.get("generator", NONE)
    maybe = not sets_state and NONE in options(passed)
    return Hit(
        event,
        f"{code(event)} uses a random generator's state",
        "seed, or draw the numbers, in the code that calls the compiled function",
        "possible" if maybe else certainty(event),
        torch=">=2.13" if sets_state and name in _ON_A_GPU and package.startswith("torch.cuda") else "",
        consequence=consequence(event),
    )


def _is_generator(value: Value | None) -> bool:
    return value is not None and any(
        isinstance(o, ExternalObject) and o.qualname == "torch.Generator" for o in options(value)
    )
