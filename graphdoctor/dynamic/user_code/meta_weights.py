"""Models without memory: parameters on the meta device while a model is built, and random ones in their place."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


@contextlib.contextmanager
def no_memory() -> Iterator[None]:
    """While the block runs, each parameter that a module gets has a shape and no memory.

    Only those of modules: arguments and buffers that are made beside them have their numbers.
    """
    register = nn.Module.register_parameter

    def registered(module: nn.Module, name: str, param: nn.Parameter | None) -> None:
        register(module, name, param)
        if type(param) is nn.Parameter and not param.is_meta:
            module._parameters[name] = nn.Parameter(param.detach().to("meta"), param.requires_grad)

    nn.Module.register_parameter = registered  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        nn.Module.register_parameter = register  # type: ignore[method-assign]


def fill(model: nn.Module, device: torch.device) -> bool:
    """Give random numbers to parameters, and zeros to buffers, that are on the meta device; whether there were any.

    What is shared stays shared. A module that can reset its parameters does so.
    """
    made: dict[int, Any] = {}
    for module in model.modules():
        own = {name: p for name, p in module._parameters.items() if p is not None and p.is_meta}
        new = [name for name, parameter in own.items() if id(parameter) not in made]
        for name, parameter in own.items():
            if name in new:
                made[id(parameter)] = _random(name, parameter, device), parameter
            module._parameters[name] = made[id(parameter)][0]
        reset = getattr(module, "reset_parameters", None)
        if new and len(new) == len([p for p in module._parameters.values() if p is not None]) and callable(reset):
            with contextlib.suppress(Exception):  # one that takes arguments, or whose parameters are its children's
                reset()
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.is_meta:
                made[id(buffer)] = made.get(id(buffer)) or (torch.zeros_like(buffer, device=device), buffer)
                module._buffers[name] = made[id(buffer)][0]
    return bool(made)


def _random(name: str, parameter: nn.Parameter, device: torch.device) -> nn.Parameter:
    """As most layers begin: small numbers; of one dimension, ones to multiply with and zeros to add."""
    found = torch.zeros_like(parameter, device=device)
    if found.is_floating_point() and found.ndim > 1:
        found.normal_(0.0, 0.02)
    elif "weight" in name or "scale" in name or "gamma" in name:
        found.fill_(1)
    return nn.Parameter(found.detach(), parameter.requires_grad)
