"""The inputs a program is called with: dtypes, shapes, values, layouts and aliasing, drawn from a seeded generator."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "uint8", "bool")
#: Dtypes for which torch has few operators.
RARE = ("int8", "int16", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "complex128", "complex32")
_SHAPES = ((2, 3), (2, 3), (4,), (3, 3), (1,), (1, 1), (), (0,), (0, 3), (2, 3, 4), (1, 3))
_LAYOUTS = ("plain", "plain", "plain", "transposed", "strided", "expanded", "non-leaf", "parameter", "subclass")


class Marked(torch.Tensor):
    """A subclass that adds nothing: what is made of it is of the subclass, too."""


@dataclass(frozen=True)
class TensorSpec:
    """How a tensor is made; ``values`` is a key of ``VALUES``."""

    dtype: str
    shape: tuple[int, ...]
    values: str
    requires_grad: bool = False
    layout: str = "plain"
    seed: int = 0

    def build(self) -> torch.Tensor:
        """A new tensor, the same each time."""
        dtype = getattr(torch, self.dtype)
        shape = (*self.shape[:-1], 2 * self.shape[-1]) if self.layout == "strided" and self.shape else self.shape
        if self.layout == "transposed":
            shape = tuple(reversed(shape))
        generator = torch.Generator().manual_seed(self.seed)
        made = VALUES[self.values](torch.randn(shape, generator=generator, dtype=torch.float64))
        if dtype.is_complex:
            made = torch.complex(made, made.flip(0) if made.ndim else made)
        if not dtype.is_floating_point and not dtype.is_complex:
            made = (made.nan_to_num(0.0, 9.0, -9.0) * (1 if self.values in _WHOLE else 3)).round()
            made = made.abs() if not dtype.is_signed else made
            made = (
                made.clamp(max=200.0)
                if dtype is torch.uint8
                else made.clamp(-100.0, 100.0)
                if dtype is torch.int8
                else made
            )
        made = made.clamp(-3e4, 3e4) if dtype is torch.int16 else made
        made = made.to(dtype)
        if self.layout == "transposed":
            made = made.permute(tuple(reversed(range(made.ndim))))
        elif self.layout == "strided" and made.ndim:
            made = made[..., ::2]
        elif self.layout == "expanded" and made.ndim and made.shape[0] > 0:
            made = made[:1].expand(made.shape)
        if self.layout == "parameter" and (dtype.is_floating_point or dtype.is_complex):
            return torch.nn.Parameter(made, self.requires_grad)
        if self.layout == "subclass":
            made = made.as_subclass(Marked)  # type: ignore[no-untyped-call]
        made = made.detach().requires_grad_(self.requires_grad)
        return made.clone() if self.layout == "non-leaf" and self.requires_grad else made


#: Values of tensors, made of normally distributed ones.
VALUES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "normal": lambda t: t,
    "positive": lambda t: t.abs() + 0.5,
    "negative": lambda t: -t.abs() - 0.5,
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
    "negative zeros": lambda t: -torch.zeros_like(t),
    "some zeros": lambda t: torch.where(t > 0, t, torch.zeros_like(t)),
    "with infinities": lambda t: torch.where(t > 0.4, torch.full_like(t, torch.inf), t),
    "with NaN": lambda t: torch.where(t > 0.6, torch.full_like(t, torch.nan), t),
    "infinite": lambda t: torch.full_like(t, torch.inf) * t.sign(),
    "large": lambda t: torch.full_like(t, 2.0**24 + 1.0),
    "huge": lambda t: t * 1000.0,
    "tiny": lambda t: t * 1e-7,
    "thresholds": lambda t: torch.full_like(t, 0.1),
    "constant": lambda t: torch.full_like(t, 3.0),
}
_WHOLE = frozenset({"zeros", "ones", "negative zeros", "large", "constant"})


@dataclass(frozen=True)
class Alias:
    """An argument made of the tensor argument before it: the same one, a view, or its detached twin."""

    of: int
    how: str

    def of_tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        """The alias."""
        if self.how == "same":
            return tensor
        return tensor.detach() if self.how == "detached" else tensor[...]


@dataclass(frozen=True)
class FromSample:
    """An argument of the sample that a program declares, as ``code``, with its floats changed by one of ``CHANGES``."""

    code: str
    change: str = "as it is"
    requires_grad: bool = False

    def build(self) -> Any:
        """The argument."""
        value = eval(self.code, {"torch": torch})
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return CHANGES[self.change](value).detach().requires_grad_(self.requires_grad)


#: What verification does with the floats of a sample (``graphdoctor/dynamic``), and what it says no fix depends on.
CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "as it is": lambda t: t,
    "negated": lambda t: -t,
    "times 1000": lambda t: t * 1000,
    "times 0.001": lambda t: t * 0.001,
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
    "float64": lambda t: t.double(),
    "NaN first": lambda t: torch.where(torch.arange(t.numel()).reshape(t.shape) == 0, torch.nan, t),
    "infinity first": lambda t: torch.where(torch.arange(t.numel()).reshape(t.shape) == 0, torch.inf, t),
}


Spec = TensorSpec | Alias | FromSample | Any


@dataclass(frozen=True)
class Input:
    """The argument lists of a sequence of calls."""

    calls: tuple[tuple[Spec, ...], ...]
    #: In what the caller makes the calls, one of ``CALLERS``.
    caller: str = "plain"

    def build(self) -> list[list[Any]]:
        """New arguments for each call."""
        return [_arguments(call) for call in self.calls]


def _arguments(specs: Sequence[Spec]) -> list[Any]:
    made: list[Any] = []
    for spec in specs:
        if isinstance(spec, (TensorSpec, FromSample)):
            made.append(spec.build())
        elif isinstance(spec, Alias):
            made.append(spec.of_tensor(made[spec.of]))
        else:
            made.append(list(spec) if isinstance(spec, tuple) else spec)
    return made


def _tensor(rng: random.Random, floating: bool = False) -> TensorSpec:
    dtype = rng.choice(FLOATS if floating or rng.random() < 0.6 else (*INTS, *INTS, "complex64"))
    if rng.random() < 0.35:
        dtype = "float32"
    elif rng.random() < 0.06:
        dtype = rng.choice(RARE)
    differentiable = dtype in FLOATS or dtype == "complex64"
    return TensorSpec(
        dtype, rng.choice(_SHAPES), rng.choice(sorted(VALUES)), differentiable and rng.random() < 0.6,
        rng.choice(_LAYOUTS), rng.randrange(1000),
    )  # fmt: skip


_SCALARS = (0, 1, 2, 3, -1, 2.5, 0.5, -0.0, 2**24 + 1, 1e-3, 0.1, True, False, float("inf"), float("nan"))


def _role(rng: random.Random, role: str, before: Sequence[Spec]) -> Spec:
    if role == "tensor":
        earlier = [i for i, spec in enumerate(before) if isinstance(spec, TensorSpec)]
        if earlier and rng.random() < 0.3:
            return Alias(rng.choice(earlier), rng.choice(("same", "detached", "view")))
        if earlier and rng.random() < 0.6:
            first = before[earlier[0]]
            changed = {"values": rng.choice(sorted(VALUES)), "seed": rng.randrange(1000), "layout": "plain"}
            return TensorSpec(**{**first.__dict__, **changed})
        return _tensor(rng)
    if role == "scalar":
        # Who writes a default, and no annotation, gets tensors too.
        is_tensor = rng.random() < 0.12
        shape = rng.choice(((), (1,), (1, 1)))
        return TensorSpec("float32", shape, "normal", seed=rng.randrange(99)) if is_tensor else rng.choice(_SCALARS)
    if role == "flag":
        return rng.choice((True, False))
    if role == "list":
        return rng.choice(((), (1,), (1, 2, 3)))
    assert role == "either", role
    return rng.choice((*_SCALARS, "text", None, _tensor(rng), _tensor(rng), _tensor(rng)))


#: Settings of the caller that change what operators give.
CALLERS: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "plain": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "float64 by default": lambda: _default_dtype(torch.float64),
}


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


#: The roles that arguments of programs have.
ROLES = ("tensor", "scalar", "flag", "list", "either")

_USUAL = (
    TensorSpec("float32", (2, 3), "positive", True),
    TensorSpec("float32", (2, 3), "negative", True, "non-leaf"),
    TensorSpec("float32", (2, 3), "zeros"),
    TensorSpec("float32", (2, 3), "with NaN", True, "non-leaf"),
    TensorSpec("int64", (2, 3), "normal"),
    TensorSpec("float32", (1,), "positive", True, "non-leaf"),
)


def inputs_for(arguments: Sequence[str], seed: int, count: int) -> list[Input]:
    """``count`` inputs for a program with these arguments: usual ones first, then whatever the generator gives."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        calls = []
        for _ in range(rng.choice((1, 1, 2))):
            specs: list[Spec] = []
            for role in arguments:
                first = number < len(_USUAL) and role == "tensor" and not specs
                specs.append(_USUAL[number] if first else _role(rng, role, specs))
            calls.append(tuple(specs))
        odd = number >= len(_USUAL) and rng.random() < 0.2
        made.append(Input(tuple(calls), rng.choice(sorted(CALLERS)) if odd else "plain"))
    return made


def inputs_of_sample(sample: Sequence[str]) -> list[Input]:
    """The sample, once and twice, with gradients and without, and what verification varies of it."""
    made = []
    for change in CHANGES:
        for grad in (True, False):
            call = tuple(FromSample(code, change, grad) for code in sample)
            made.append(Input((call, call) if change == "as it is" else (call,)))
    return made
