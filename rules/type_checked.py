"""The arguments of a call are checked against their type hints by a decorator.

What: A function under `@typeguard.typechecked`; a function that beartype checks (`@beartype`, or
`@jaxtyped(typechecker=beartype)`) with hints of jaxtyping, `Float[Tensor, "b c"]`, or of sequences, `list[Tensor]`.

Why: The checks run inside the call, so Dynamo traces them with it. Those of jaxtyping are not traced: they split the
graph, and before torch 2.14 they fail on any tensor that is traced, which raises an error that eager code does not
(https://github.com/pytorch/pytorch/issues/122093). The calls that typeguard puts into the function, and the function in
C by which beartype draws the item of a sequence to look at, are not traced and split the graph. Other hints, `Tensor`,
`int`, `dict[str, Tensor]`, are traced by beartype.

Fix: Run what is compiled with `python -O`, which leaves all of these checks out, or with `JAXTYPING_DISABLE=1`, which
leaves those of `jaxtyped` out; or take the decorator off the compiled functions, and check in the tests. With
`jaxtyped(typechecker=None)` nothing is checked.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.values import Function
from graphdoctor.static.library_models.type_checkers import BEARTYPE, JAXTYPED, TYPEGUARD
from graphdoctor.static.rule import Hit

from ._shared import certainty, code, consequence

CODE = "GD411"
NAME = "type-checked"
SEVERITY = "error"
GB_IDS = ("GB0059", "GB0007", "GB0088", "GB0116")
TORCH = ">=2.6"

BREAKS = (
    """\
from beartype import beartype
from torch import Tensor


@beartype
def total(parts: list[Tensor]) -> Tensor:
    return parts[0] + parts[1]


def f(x):
    return total([x, x * 2]) + 1  # GB0007
""",
    """\
# torch >=2.9
import torch
from typeguard import typechecked


@typechecked
def scale(x: torch.Tensor):  # GB0059 GB0088 GB0116
    return x * 2


def f(x):
    return scale(x + 1) * 2
""",
)

CLEAN = (
    """\
import torch
from beartype import beartype


@beartype
def scale(x: torch.Tensor, factor: int | None, sizes: dict[str, int], pair: tuple[int, int]) -> torch.Tensor:
    return x * (factor or pair[0]) + sizes["a"]


def f(x):
    return scale(x, 2, {"a": 1}, (1, 2)) + 1
""",
    """\
# torch >=2.9
import torch
from jaxtyping import Float, jaxtyped


@jaxtyped(typechecker=None)
def scale(x: Float[torch.Tensor, "rows columns"]):
    return x * 2


def f(x):
    return scale(x) + 1
""",
    """\
import torch
from jaxtyping import Float


def scale(x: Float[torch.Tensor, "rows columns"], parts: list[torch.Tensor]):
    return x * 2


def f(x):
    return scale(x, [x]) + 1
""",
    """\
import torch
from beartype import beartype
from jaxtyping import Float


@beartype
def scale(x: torch.Tensor, mask: Float[torch.Tensor, "..."] | None = None):
    return x * 2 if mask is None else x * mask


def f(x):
    return scale(x) + 1
""",
    """\
import torch.nn as nn
from beartype import beartype
from typeguard import typechecked


class Net(nn.Module):
    @beartype
    def __init__(self, sizes: list[int] = [8, 8]):
        super().__init__()
        self.lin = nn.Linear(*sizes)

    @typechecked
    def name(self) -> str:
        return "net"

    def forward(self, x):
        return self.lin(x)
""",
)

_OF_BEARTYPE, _OF_TYPEGUARD, _OF_JAXTYPING = (f"{name}.__call__" for name in (BEARTYPE, TYPEGUARD, JAXTYPED))
_SUGGESTION = "take the decorator off what is compiled, or run it with `python -O`, which leaves such checks out"


def watches(name: str) -> bool:
    return name in (_OF_BEARTYPE, _OF_TYPEGUARD, _OF_JAXTYPING)


def check_call(event: Call) -> Hit | None:
    if not isinstance(event.receiver, Function):
        return None
    function = event.receiver.info.name
    if event.qualname == _OF_JAXTYPING:
        words = (
            f"the checks of jaxtyping's hints on `{function}` are not traced: before torch 2.14 they fail and raise an "
            "error, and later they split the graph"
        )
        return Hit(event, words, f"{_SUGGESTION}; `JAXTYPING_DISABLE=1` does it for `jaxtyped`", certainty(event))
    checked = (
        f"typeguard checks the arguments of `{function}`"
        if event.qualname == _OF_TYPEGUARD
        else f"{code(event)} is checked by beartype, which draws an item of a sequence"
    )
    return Hit(event, checked, _SUGGESTION, certainty(event), consequence=consequence(event))
