"""Inputs that an operator of the code has no number for, as the logarithm of zero or of a negative one."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable
from typing import Any

import torch

from graphdoctor.dynamic.tracing.private_torch import TorchDispatchMode
from graphdoctor.dynamic.user_code import pytree


def has_no_number(call: Callable[[], object]) -> bool:
    """Whether an operator in ``call`` gives NaN or infinity for finite numbers. False where the call raises."""
    watch = _Watch()  # type: ignore[no-untyped-call]
    try:
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), watch:
            call()
    except Exception:  # an operator that cannot be watched
        return False
    return watch.found


def not_positive_now(before: Any, after: Any) -> bool:
    """Whether a tensor of positive floats has others, in two structures with the same tensors."""
    tensors = zip(_floats(before), _floats(after), strict=False)
    return any(a.numel() and b.numel() and bool(a.min() > 0) and bool(b.min() <= 0) for a, b in tensors)


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes whether an operator gives what is no number."""

    found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # What an operator makes of no tensor, as torch.empty does, may be anything; an infinity may also be written.
        given = [] if self.found else _floats((args, kwargs))
        watched = bool(given) and all(bool(tensor.isfinite().all()) for tensor in given)
        watched = watched and all(
            math.isfinite(x) for x in pytree.leaves((args, kwargs), "").values() if type(x) is float
        )
        results = func(*args, **(kwargs or {}))
        if watched:
            self.found = any(not tensor.isfinite().all() for tensor in _floats(results))
        return results


def _floats(value: Any) -> list[torch.Tensor]:
    leaves = pytree.leaves(value, "").values()
    return [x.detach() for x in leaves if isinstance(x, torch.Tensor) and x.is_floating_point()]
