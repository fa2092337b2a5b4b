"""The inputs of each submodule in one eager run, so that submodules can be run alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.target import Sample

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype)


@dataclass(frozen=True)
class Call:
    """The first call of a submodule. ``inputs`` is None where the arguments cannot be copied; ``order`` counts calls
    by the time they ended."""

    inputs: tuple[tuple[Any, ...], dict[str, Any]] | None
    order: int = 0

    def sample(self, module: nn.Module) -> Sample:
        """This call on ``module``, with copies of the arguments. Raises ValueError where there are none."""
        if self.inputs is None:
            raise ValueError("its inputs cannot be copied")
        args, kwargs = copy.deepcopy(self.inputs)
        return Sample(module, args, kwargs)


def record(sample: Sample) -> dict[str, Call]:
    """Run ``sample`` in eager and keep the first call of each submodule by name; without gradients, because tensors
    inside an autograd graph cannot be copied."""
    calls: dict[str, Call] = {}
    with torch.no_grad(), _hooks(sample.module, calls), torch.compiler.set_stance("force_eager"):
        sample.function(*sample.args, **sample.kwargs)
    return calls


@contextmanager
def _hooks(root: nn.Module | None, calls: dict[str, Call]) -> Iterator[None]:
    handles = []
    ended = iter(range(1 << 62))

    def before(name: str) -> Callable[..., None]:
        def see(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if name in calls:
                return
            try:
                calls[name] = Call(copy.deepcopy((args, kwargs)))
            except Exception:  # a generator, a lock, an object of the user's
                calls[name] = Call(None)

        return see

    def after(name: str) -> Callable[..., None]:
        def see(_module: nn.Module, _args: Any, _output: Any) -> None:
            if not calls[name].order:
                calls[name] = Call(calls[name].inputs, next(ended) + 1)

        return see

    for name, module in root.named_modules() if root is not None else ():
        handles.append(module.register_forward_pre_hook(before(name), with_kwargs=True))
        handles.append(module.register_forward_hook(after(name)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def alike(module: nn.Module, call: Call) -> tuple[object, ...]:
    """Equal for modules that Dynamo cannot tell apart: same classes, plain attributes, shapes and inputs."""
    structure = tuple((name, type(part), _plain(vars(part)), _shapes(part)) for name, part in module.named_modules())
    leaves = pytree.leaves(call.inputs, "input").items()
    return (structure, *((name, _signature(leaf)) for name, leaf in leaves))


def _plain(attributes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, repr(value)) for name, value in sorted(attributes.items()) if isinstance(value, _PLAIN))


def _shapes(module: nn.Module) -> tuple[object, ...]:
    own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
    return tuple((name, _signature(tensor)) for name, tensor in own)


def _signature(leaf: Any) -> object:
    if isinstance(leaf, torch.Tensor):
        stride = leaf.stride() if leaf.layout is torch.strided else ()
        return tuple(leaf.shape), stride, leaf.dtype, leaf.device, leaf.requires_grad
    return repr(leaf)
