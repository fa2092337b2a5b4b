"""A custom operator without a fake implementation.

What: A call of a function under `@torch.library.custom_op` that gives tensors or numbers, in whose file nothing is
registered as its fake implementation (`register_fake`).

Why: Dynamo puts the operator into the graph without running it, and asks its fake implementation what the result looks
like: its shape, dtype and device. Without one, compiling raises at the call.

Fix: Register one, which makes an empty tensor of the shape, dtype and device that the operator gives:
`@my_operator.register_fake`. An operator that only writes into its arguments and returns None needs none.
"""

from __future__ import annotations

import re

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.fake_kernels import fake_of_operators
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.values import Function
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import code

CODE = "GD514"
NAME = "operator-without-fake"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


@torch.library.custom_op("gd514::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def f(x):
    return double(x) + 1  # raises
""",
    """\
import torch
from torch.library import custom_op


@custom_op("gd514::mean_of", mutates_args=())
def mean_of(x: torch.Tensor, scale: float = 1.0) -> float:
    return x.mean().item() * scale


def f(x):
    return x * mean_of(x)  # raises
""",
)

CLEAN = (
    """\
import torch


@torch.library.custom_op("gd514::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


def f(x):
    return twice(x) + 1
""",
    """\
import torch


@torch.library.custom_op("gd514::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@torch.library.register_fake("gd514::thrice")
def _(x):
    return torch.empty_like(x)


def f(x):
    return thrice(x) + 1
""",
    """\
import torch


@torch.library.custom_op("gd514::add_one", mutates_args=("x",))
def add_one(x: torch.Tensor) -> None:
    x.add_(1)


def f(x):
    y = x * 2
    add_one(y)
    return y
""",
    """\
import torch
from torch.library import custom_op, register_fake


@custom_op("gd514::fourfold", mutates_args=())
def fourfold(x: torch.Tensor) -> torch.Tensor:
    return x * 4


@register_fake("gd514::fourfold")
def _(x):
    return torch.empty_like(x)


def f(x):
    return fourfold(x) + 1
""",
)

#: A fake implementation that is registered by the name of an operator, as a text.
_BY_NAME = re.compile(r"\b_?(?:register_fake|impl_abstract)\(")


def watches(name: str) -> bool:
    return name == "torch.library.custom_op.__call__"


def check_call(event: Call) -> Hit | None:
    operator = event.receiver
    if not isinstance(operator, Function) or not isinstance(operator.info.node, cst.FunctionDef):
        return None
    returns, name = operator.info.node.returns, operator.info.name
    if returns is None or (isinstance(returns.annotation, cst.Name) and returns.annotation.value == "None"):
        return None
    decorators = operator.info.node.decorators
    if any("inplace" in operator.info.module.source.code(decorator.decorator) for decorator in decorators):
        # Tagged so, it gives back what it wrote into.
        return None
    # One that is registered by the name of the operator is not told from that of another operator.
    texts = (operator.info.module.source.text, event.site.module.text)
    if "torch.library" not in texts[0] or any(f"{name}.register_" in text or _BY_NAME.search(text) for text in texts):
        return None
    return Hit(
        event,
        f"{code(event)} has no fake implementation, which would give the shape of its result: compiling raises",
        f"register one: `@{name}.register_fake`, which makes an empty tensor of the result's shape and dtype",
        "likely",
        data=name if operator.info.module.source is event.site.module else "",
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return fake_of_operators(hit, editor)
