"""The inputs that ``--input`` describes: random numbers, and whether the target takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.parent.input_specs import COMPLEX, FLOATS, Argument, InputSpecError, TensorSpec
from graphdoctor.dynamic.user_code.fresh import Sample


def sample_with(function: Callable[..., Any], arguments: Sequence[Argument]) -> Sample:
    """``function`` with ``arguments``. Raises InputSpecError where it does not take them."""
    args = tuple(_made(a.value) for a in arguments if a.name is None)
    keywords = {a.name: _made(a.value) for a in arguments if a.name is not None}
    _check(function, args, keywords)
    return Sample(function, args, keywords, origin="--input, random numbers")


def _check(function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    called = function.forward if isinstance(function, nn.Module) else function
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):  # a builtin without a signature
        return
    try:
        signature.bind(*args, **keywords)
    except TypeError as error:
        name = getattr(called, "__qualname__", "the target")
        takes = ", ".join(map(str, signature.parameters.values())) or "no arguments"
        raise InputSpecError(f"--input: {name} cannot be called so: {error}; it takes {takes}") from None


def _made(value: TensorSpec | bool | int | float | None) -> Any:
    if not isinstance(value, TensorSpec):
        return value
    dtype = getattr(torch, value.dtype)
    if value.dtype in FLOATS + COMPLEX:
        return torch.randn(value.shape, dtype=dtype)
    bound = 2 if value.dtype == "bool" else value.bound
    return torch.randint(0, bound, value.shape).to(dtype)
