"""Outputs of two runs, compared: everything a run leaves behind, leaf by leaf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.target import Sample
from graphdoctor.model.runs import Numerics

#: (relative, absolute) by dtype: those of torch.testing.assert_close (torch/testing/_comparison.py); others are exact.
_TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
TOLERANCE = "by dtype, as torch.testing.assert_close"

#: What a run left behind, by name: outputs, arguments and buffers as they are after the call, gradients.
Snapshot = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """``max_abs_diff`` over all compared numbers; ``where`` names the first leaf out of tolerance, with a reason."""

    max_abs_diff: float
    where: str | None = None


def snapshot(sample: Sample, outputs: Any) -> Snapshot:
    """Outputs, arguments (they may have been written to), buffers and gradients after a run."""
    found = pytree.leaves(outputs, "output")
    found |= pytree.leaves(sample.args, "input")
    found |= pytree.leaves(sample.kwargs, "input")
    inputs = {name: leaf for name, leaf in found.items() if isinstance(leaf, torch.Tensor) and leaf.is_leaf}
    found |= {f"gradient of {name}": leaf.grad for name, leaf in inputs.items() if leaf.grad is not None}
    if sample.module is not None:
        found |= {f"buffer {name}": buffer for name, buffer in sample.module.named_buffers()}
        found |= {f"gradient of {n}": p.grad for n, p in sample.module.named_parameters() if p.grad is not None}
    found |= {f"gradient of {name}": kept for name, kept in sample.gradients.items()}
    # Copies: a buffer, or an output that is one, changes with the next call.
    return {
        name: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else pytree.plain(leaf)
        for name, leaf in found.items()
    }


def gradients_beside(eager: Snapshot, compiled: Snapshot) -> set[str]:
    """The gradients that compiled code has and eager code has not; the loss, too, where eager code had none at all."""
    beside = {name for name in compiled if name not in eager}
    return {name for name in beside if name == "loss" or name.startswith("gradient of ")}


def mutated(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """The inputs and buffers that a run wrote to."""
    kept = [name for name in before if name.startswith(("input", "buffer ")) and name in after]
    return tuple(name for name in kept if compare({name: before[name]}, {name: after[name]}).where is not None)


def save(found: Snapshot, folder: Path, mode: str) -> None:
    """Write a snapshot for a later run in another process."""
    folder.mkdir(parents=True, exist_ok=True)
    cpu = {name: leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf for name, leaf in found.items()}
    torch.save(cpu, folder / f"{mode}.pt")


def load(folder: Path, mode: str) -> Snapshot | None:
    """The snapshot that ``save`` wrote, or None when there is none."""
    file = folder / f"{mode}.pt"
    if not file.exists():
        return None
    found: Snapshot = torch.load(file, weights_only=True, map_location="cpu")
    return found


def compare(expected: Snapshot, actual: Snapshot, scaled: bool = False) -> Difference:
    """Compare leaf by leaf; NaN equals NaN. ``scaled``: the absolute tolerance grows with a leaf's largest number."""
    largest, where = 0.0, None
    actual = _with_numbers(expected, actual)
    missing = next((name for name in expected if name not in actual), None)
    extra = next((name for name in actual if name not in expected), None)
    if missing or extra:
        where = f"{missing} is missing" if missing else f"{extra} is new"
    for name in expected:
        if name in actual:
            difference, reason = _leaf(expected[name], actual[name], scaled)
            largest = max(largest, difference)
            where = where or (f"{name}: {reason}" if reason else None)
    return Difference(largest, where)


def _with_numbers(expected: Snapshot, actual: Snapshot) -> Snapshot:
    """``actual`` with numbers where compiled code returns arrays without dimensions for them.

    A ``numpy.float64`` is a float of Python, and torch.compile returns each scalar of numpy as an array.
    """

    def as_expected(name: str, leaf: Any) -> tuple[str, Any]:
        number = name.removesuffix(pytree.OF_NUMPY)
        is_scalar = number != name and isinstance(leaf, torch.Tensor) and leaf.ndim == 0
        return (number, leaf.item()) if is_scalar and _is_number(expected.get(number)) else (name, leaf)

    return dict(as_expected(name, leaf) for name, leaf in actual.items())


def _leaf(a: Any, b: Any, scaled: bool) -> tuple[float, str | None]:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return _tensors(a, b, scaled)
    if _is_number(a) and _is_number(b):
        difference, close = abs(a - b), _numbers_close(a, b)
        return (0.0 if difference != difference else difference), None if close else f"{a} and {b}"
    if type(a) is not type(b) or a != b:
        return 0.0, f"{_short(a)} and {_short(b)}"
    return 0.0, None


def _tensors(a: torch.Tensor, b: torch.Tensor, scaled: bool) -> tuple[float, str | None]:
    if a.shape != b.shape:
        return 0.0, f"shapes {list(a.shape)} and {list(b.shape)}"
    if a.dtype != b.dtype:
        return 0.0, f"dtypes {a.dtype} and {b.dtype}"
    a, b = _dense(a), _dense(b)
    if torch.equal(a, b):
        return 0.0, None
    difference = (_arithmetic(a) - _arithmetic(b)).abs().nan_to_num(nan=0.0, posinf=0.0)
    largest = difference.max().item() if a.numel() else 0.0
    relative, absolute = _TOLERANCES.get(a.dtype, (0.0, 0.0))
    if scaled and a.numel():
        absolute *= max(_arithmetic(a).abs().nan_to_num(0.0, 0.0, 0.0).max().item(), 1.0)
    close = _close(a, b, (relative, absolute)) if a.dtype in _TOLERANCES else torch.equal(a, b)
    if close:
        return largest, None
    if not torch.equal(a.isnan(), b.isnan()):
        return largest, "values differ: NaN in one and not in the other"
    size = _arithmetic(a).abs().nan_to_num(0.0, 0.0, 0.0).max().item() if a.numel() else 0.0
    return largest, f"values differ by up to {largest:.3g}, with values of up to {size:.3g}"


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().cpu()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    return tensor.dequantize() if tensor.is_quantized else tensor


def _arithmetic(tensor: torch.Tensor) -> torch.Tensor:
    """In a dtype that can be subtracted without loss for all but huge integers."""
    return tensor if tensor.is_complex() else tensor.double()


def _close(a: torch.Tensor, b: torch.Tensor, tolerance: tuple[float, float]) -> bool:
    relative, absolute = tolerance
    return torch.allclose(a, b, rtol=relative, atol=absolute, equal_nan=True)


def _numbers_close(a: complex, b: complex) -> bool:
    """Both NaN, or equal within the tolerance of float32, which such numbers often come from."""
    relative, absolute = _TOLERANCES[torch.float32]
    return a == b or (a != a and b != b) or abs(a - b) <= absolute + relative * abs(b)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a {value.dtype} tensor"
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def not_compared(why: str) -> Numerics:
    """The ``Numerics`` where nothing could be compared."""
    return Numerics(None, None, TOLERANCE, why)


def verdict(comparisons: Mapping[str, Difference], note: str = "") -> Numerics:
    """One ``Numerics`` for several comparisons, each with a name that completes "... differ"."""
    bad = [f"{name}: {difference.where}" for name, difference in comparisons.items() if difference.where]
    return Numerics(
        equal=not bad,
        max_abs_diff=max((d.max_abs_diff for d in comparisons.values()), default=0.0),
        tolerance=TOLERANCE,
        detail="; ".join([*bad, note] if note else bad),
    )
