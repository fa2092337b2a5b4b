"""What a model is called with, in one line for the report: names, shapes, and where they come from."""

from __future__ import annotations

from typing import Any

import torch

from graphdoctor.breaks.messages import one_line
from graphdoctor.dynamic.recompiles.arguments import leaves, named
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.fresh import Sample
from graphdoctor.dynamic.worker.numpy_scalars import scalars

#: Arguments that are named, and characters of one that is no tensor.
_NAMED, _LONGEST = 6, 40


def described(sample: Sample, made_for: str = "", file: str = "") -> str:
    """``x float32[8, 16], from graphdoctor_target() in model.py``, the function of ``file`` that gives them.

    ``made_for`` names the target, whose inputs are made up unless they come from the user or from what is named.
    """
    arguments = sample.args, sample.kwargs
    numbers = scalars(sample.function, arguments)
    opened = leaves(sample.function, arguments)
    parts = [
        f"{name} {_of_numpy(value, numbers[name]) if name in numbers else _shown(value)}"
        for name, value in opened.items()
    ]
    closed = {
        name: value
        for name, value in named(sample.function, arguments).items()
        if not any(leaf == name or leaf.startswith((f"{name}.", f"{name}[")) for leaf in opened)
    }
    parts += [f"{name} {type(value).__name__}" for name, value in closed.items()]
    more = [f"{len(parts) - _NAMED} more"] if len(parts) > _NAMED else []
    made_up = made_for and sample.origin == "graphdoctor_target()"
    origin = f"made up by graphdoctor for {made_for}" if made_up else f"from {sample.origin}"
    if file and not made_for and sample.origin.endswith("()"):
        origin += f" in {file}"
    return f"{', '.join([*parts[:_NAMED], *more]) or 'no arguments'}, {origin}"


def _of_numpy(value: Any, number: object) -> str:
    """``np.int64(5)``: what Dynamo makes a tensor of, and not a Python number."""
    return f"np.{str(value.dtype).removeprefix('torch.')}({number!r})"


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return pytree.described(value)
    return one_line(repr(value), _LONGEST)
