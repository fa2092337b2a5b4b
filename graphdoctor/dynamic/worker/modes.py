"""The modes, eval and train, that a sample is run in."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from torch import nn

from graphdoctor.dynamic.parent.protocol import RunRequest


def modes_of(request: RunRequest, module: nn.Module | None) -> tuple[Any, ...]:
    """The modes to run in; of those that are compared with an original, the ones in which it ran."""
    if request.mode != "both":
        return (request.mode,)
    found = ("eval", "train") if is_trained(module) else ("eval",)
    if not request.compare or request.reference is None:
        return found
    return tuple(mode for mode in found if (request.reference / f"{mode}.pt").exists()) or found


def is_trained(module: nn.Module | None) -> bool:
    """Whether ``module`` has something to train, or, with nothing in it that could, asks whether it is in train mode.

    What adds noise to its input or computes a loss has no parameters. One whose parameters are frozen is for inference.
    """
    if module is None:
        return False
    parameters = list(module.parameters())
    return any(p.requires_grad for p in parameters) or (not parameters and _asks_for_its_mode(module))


def _asks_for_its_mode(module: nn.Module) -> bool:
    kinds = {kind for part in module.modules() for kind in type(part).__mro__ if kind is not nn.Module}
    functions = (found for kind in kinds for found in vars(kind).values() if isinstance(found, FunctionType))
    return any("training" in function.__code__.co_names for function in functions)
