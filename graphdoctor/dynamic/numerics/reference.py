"""Whether outputs that differ are wrong: how far each is from the same computation in a wider dtype."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch

from graphdoctor.dynamic.numerics import gradients
from graphdoctor.dynamic.numerics.comparison import Snapshot, compare
from graphdoctor.dynamic.numerics.widened import widened
from graphdoctor.dynamic.user_code import fresh, pytree
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target

#: The compiled outputs may be this much further from the exact ones than eager's; torch/_dynamo/utils.py (same) has
#: 2 and 3.
_FACTOR = 2.0


#: Of these, float32 is exact enough, and takes half the time of float64.
_HALF = frozenset({torch.float16, torch.bfloat16})


def in_wider_dtype(target: Target, mode: Mode, run: Callable[[Sample], Snapshot]) -> Snapshot | None:
    """What an eager run of a copy in float64 leaves behind, of a model in half precision one in float32.

    None where the model does not run so. The weights of a large one are widened one by one.
    """
    sample = target.sample(mode)
    module = sample.module
    state = [*module.parameters(), *module.buffers()] if module is not None else []
    kinds = {tensor.dtype for tensor in (*state, *pytree.tensors((sample.args, sample.kwargs)))}
    kinds = {kind for kind in kinds if kind.is_floating_point}
    wider = torch.float32 if kinds and kinds <= _HALF else torch.float64
    around: AbstractContextManager[None] = nullcontext()
    if module is not None and fresh.is_large(module):
        around = widened(module, wider, partial(gradients.add, sample, step=gradients.step_of(module)))
        convert_inputs(sample, wider)
    else:
        convert(sample, wider)
    try:
        with torch.compiler.set_stance("force_eager"), around:
            return run(sample)
    except Exception:  # a dtype that is written in the code
        return None


def convert(sample: Sample, wider: torch.dtype) -> None:
    """Put the module and the inputs of ``sample`` into the dtype ``wider``."""
    if sample.module is not None:
        sample.module.to(wider)
    convert_inputs(sample, wider)


def convert_inputs(sample: Sample, wider: torch.dtype) -> None:
    """Put the inputs of ``sample`` into the dtype ``wider``."""
    sample.args, sample.kwargs = pytree.map_tensors(
        (sample.args, sample.kwargs), lambda tensor: _converted(tensor, wider)
    )


def _converted(tensor: torch.Tensor, wider: torch.dtype) -> torch.Tensor:
    return tensor.detach().to(wider).requires_grad_(tensor.requires_grad) if tensor.is_floating_point() else tensor


def cleared(eager: Snapshot, compiled: Snapshot, exact: Snapshot) -> str:
    """What clears all differences: compiled is no further from ``exact`` than eager is; empty where one stays."""
    if eager.keys() != compiled.keys():
        return ""
    worst = (0.0, 0.0)
    for name, value in eager.items():
        if compare({name: value}, {name: compiled[name]}).where is None:
            continue
        mine, other = _error(value, exact.get(name)), _error(compiled[name], exact.get(name))
        # Eager is as good as exact: the reference was rounded like the model itself, and proves nothing.
        if mine is None or other is None or mine == 0 or other > _FACTOR * mine:
            return ""
        worst = max(worst, (other, mine))
    other, mine = worst
    return (
        f"within the error that eager itself has against a wider dtype (eager {mine:.3g}, compiled {other:.3g}, as RMS)"
    )


def _error(value: Any, exact: Any) -> float | None:
    """The root mean square of the difference; None where there is nothing to compare with."""
    tensors = isinstance(value, torch.Tensor) and isinstance(exact, torch.Tensor)
    if not tensors or value.shape != exact.shape or not value.is_floating_point():
        return None
    # One of them may come from a file, where it is on the CPU.
    difference = (value.cpu().double() - exact.cpu().double()).square().mean().sqrt().item()
    return difference if difference == difference else None
