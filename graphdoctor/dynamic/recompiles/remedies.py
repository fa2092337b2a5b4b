"""What may save compilations, by cause: remedies that can be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from graphdoctor.breaks.recompiles.guard_kinds import spoken
from graphdoctor.dynamic.recompiles import arguments, guarded_values
from graphdoctor.dynamic.recompiles.causes import Cause
from graphdoctor.dynamic.recompiles.compiled_calls import Call, Code, NotApplicable, Remedy, Step
from graphdoctor.dynamic.user_code.target import Sample

#: The sizes of each (input, dimension) that differs between the calls, in the order of the calls.
Sizes = Mapping[tuple[str, int], tuple[int, ...]]

#: A dimension is padded to a multiple of one of these.
_MULTIPLES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)

DYNAMIC = Remedy("`torch.compile(..., dynamic=True)`", keywords={"dynamic": True})


def candidates(cause: Cause, calls: Sequence[Call]) -> list[Remedy]:
    """What can be run against ``cause``, the best first."""
    kind, name = cause.guard.kind, cause.input
    if kind == "size":
        return _for_size(calls) if name else []
    if kind == "state":
        return [Remedy("call under one grad mode (all calls under `torch.no_grad()`, or none)", steps=_one_grad_mode)]
    if kind == "attribute":
        setting = "allow_unspec_int_on_nn_module"
        setting_remedy = Remedy(f"`torch._dynamo.config.{setting} = True`", config={setting: True})
        return [_buffer(cause), setting_remedy]
    if kind == "global":
        return [_global_tensor(cause)]
    if name is None:
        return [DYNAMIC] if kind == "value" else []
    values = [call.inputs[name] for call in calls if name in call.inputs]
    if kind == "value":
        return _for_value(name, values)
    if kind == "type" and all(isinstance(value, (int, float)) for value in values):
        return [_each(f"`float({name})` in each call", {name}, float, number=True)]
    if kind == "length":
        return [_each(f"`torch.stack({name})` in place of the list", {name}, _stack)]
    first = next((value for value in values if isinstance(value, torch.Tensor)), None)
    if first is None:
        return []
    if kind == "stride":
        return [_each(f"`{name}.contiguous()` before the call", {name}, lambda tensor: tensor.contiguous())]
    if kind == "dtype":
        text = f"`{name}.to({first.dtype})` before the call"
        return [_each(text, {name}, lambda tensor: tensor.to(first.dtype), equal=False)]
    if kind in ("requires_grad", "type"):
        text = f"`{name}.detach()` before the call, where no gradient of it is needed"
        return [_each(text, {name}, lambda tensor: tensor.detach())]
    return []


def sizes(calls: Sequence[Call]) -> Sizes:
    """The dimensions of inputs that differ between the calls."""
    tensors = {
        name: [call.inputs[name] for call in calls]
        for name, value in calls[0].inputs.items()
        if isinstance(value, torch.Tensor) and all(isinstance(call.inputs.get(name), torch.Tensor) for call in calls)
    }
    found = {
        (name, dimension): tuple(tensor.shape[dimension] for tensor in values)
        for name, values in tensors.items()
        if len({tensor.ndim for tensor in values}) == 1
        for dimension in range(values[0].ndim)
    }
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def _for_size(calls: Sequence[Call]) -> list[Remedy]:
    varying = sizes(calls)
    if not varying:
        return []
    found = [
        mark_sizes("mark_dynamic", varying),
        replace(mark_sizes("maybe_mark_dynamic", varying), fallback=True),
        DYNAMIC,
    ]
    if any(size < 2 for values in varying.values() for size in values):
        found.append(mark_sizes("decorators.mark_unbacked", varying))
    if all(dimension == 0 and _is_last_smaller(values) for (_, dimension), values in varying.items()):
        text = "leave the smaller last batch out: `drop_last=True` in the DataLoader"
        found.append(Remedy(text, steps=lambda _, steps: steps[:-1], equal=False, alternative=True, shorter=True))
    padded = padding({key: values for key, values in varying.items() if key[1] > 0})
    return [*found, padded] if padded else found


def _is_last_smaller(values: tuple[int, ...]) -> bool:
    return len(set(values[:-1])) == 1 and values[-1] < values[0]


def mark_sizes(function: str, varying: Sizes) -> Remedy:
    """``torch._dynamo.function`` on each of the ``varying`` dimensions."""
    lines = [f"`torch._dynamo.{function}({name}, {dimension})`" for name, dimension in varying]
    more = f" and {len(lines) - 4} more" if len(lines) > 4 else ""
    mark: Any = torch._dynamo
    for part in function.split("."):
        mark = getattr(mark, part)

    def steps(called: Callable[..., Any], planned: list[Step]) -> list[Step]:
        for step in planned:
            leaves = arguments.leaves(called, (step.args, dict(step.kwargs)))
            for name, dimension in varying:
                if name in leaves:
                    mark(leaves[name], dimension)
        return planned

    return Remedy(f"{', '.join(lines[:4])}{more} before each call, in the calling code", steps=steps, last=True)


def padding(varying: Sizes) -> Remedy | None:
    """Pad all but first dimensions to the smallest common multiple that leaves one size."""
    largest = max((max(values) for values in varying.values()), default=0)
    multiple = next((m for m in _MULTIPLES if m >= largest), None) if varying else None
    if multiple is None:
        return None
    places = {name: [d for n, d in varying if n == name] for name, _ in varying}
    where = ", ".join(f"`{name}` in dimension {', '.join(map(str, ds))}" for name, ds in places.items())

    def pad(name: str, value: Any) -> Any:
        if name not in places or not isinstance(value, torch.Tensor):
            return value
        by = [0] * (2 * value.ndim)
        for dimension in places[name]:
            by[2 * (value.ndim - 1 - dimension) + 1] = -value.shape[dimension] % multiple
        return nn.functional.pad(value, by)

    text = (
        f"pad {where} to a multiple of {multiple} before the call and mask what was added, if the model gives the same "
        "for padded input: only the compilations were counted"
    )
    return Remedy(text, steps=_changing(pad), equal=False)


def _for_value(name: str, values: Sequence[Any]) -> list[Remedy]:
    if not values:  # a number that a function or an object carries along
        return [DYNAMIC]
    if any(isinstance(v, (bool, str, type(None))) or not isinstance(v, (int, float)) for v in values):
        return []
    text = f"pass a tensor, `torch.tensor({name})`, in place of the number"
    return [_each(text, {name}, torch.tensor, number=True), DYNAMIC]


def _buffer(cause: Cause) -> Remedy:
    name = cause.guard.name or ""
    attribute = name.rpartition(".")[2]

    def model(sample: Sample) -> AbstractContextManager[None]:
        found = [guarded_values.find(name, {"self": owner}) for owner in _owners(sample, cause.code)]
        return _as_tensors([slot for first in found if first for slot in _siblings(first, sample)], sample)

    text = f'a tensor buffer in place of the Python number: `self.register_buffer("{attribute}", torch.tensor(...))`'
    return Remedy(text if attribute.isidentifier() else f"a tensor in place of the number in `{name}`", model=model)


def _global_tensor(cause: Cause) -> Remedy:
    name = cause.guard.name or ""

    def model(sample: Sample) -> AbstractContextManager[None]:
        code = getattr(_forward(sample.function), "__globals__", {})
        return _as_tensors([guarded_values.find(name, {"G": code})], sample)

    # A global keeps what earlier runs made of it, so the outputs cannot be compared.
    return Remedy(f"a tensor in place of the number in `{spoken(name)}`", model=model, equal=False)


def _siblings(slot: guarded_values.Slot, sample: Sample) -> list[guarded_values.Slot]:
    """The same attribute of all modules of the class: Dynamo names the first guard that fails, and each has its own."""
    if not isinstance(slot.owner, nn.Module) or slot.is_item or sample.module is None:
        return [slot]
    alike = [module for module in sample.module.modules() if type(module) is type(slot.owner)]
    found = (guarded_values.find(f"self.{slot.key}", {"self": module}) for module in alike)
    return [other for other in found if other is not None]


def _as_tensors(found: list[guarded_values.Slot | None], sample: Sample) -> AbstractContextManager[None]:
    usable = tuple(slot for slot in found if slot is not None)
    if not usable:
        raise NotApplicable("it is not a number that a tensor can replace")
    device = next((p.device for p in sample.module.parameters()), None) if sample.module is not None else None
    return guarded_values.as_tensors(usable, device or torch.device("cpu"))


def _owners(sample: Sample, code: Code) -> list[nn.Module]:
    """The modules whose forward was compiled again."""
    if sample.module is None:
        return []
    modules = [module for module in sample.module.modules() if _code(module) == code]
    return modules or [sample.module]


def _code(module: nn.Module) -> Code | None:
    code = getattr(_forward(module), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else None


def _forward(function: Callable[..., Any]) -> Any:
    called = function.forward if isinstance(function, nn.Module) else function
    return getattr(called, "__func__", called)


def _one_grad_mode(_called: Callable[..., Any], planned: list[Step]) -> list[Step]:
    if len({step.grad for step in planned}) < 2:
        raise NotApplicable("the calls do not say under which grad mode they run")
    return [replace(step, grad=planned[0].grad) for step in planned]


def _stack(value: Any) -> Any:
    return torch.stack(list(value)) if isinstance(value, (list, tuple)) else value


def _each(text: str, names: set[str], change: Callable[[Any], Any], number: bool = False, equal: bool = True) -> Remedy:
    """``change`` applied to the inputs ``names``: to tensors and containers, or to the numbers."""

    def apply(name: str, value: Any) -> Any:
        return change(value) if name in names and isinstance(value, (int, float)) == number else value

    return Remedy(text, steps=_changing(apply), equal=equal)


def _changing(change: arguments.Change) -> Callable[[Callable[..., Any], list[Step]], list[Step]]:
    def steps(called: Callable[..., Any], planned: list[Step]) -> list[Step]:
        new = []
        for step in planned:
            args, kwargs = arguments.changed(called, (step.args, dict(step.kwargs)), change)
            new.append(replace(step, args=args, kwargs=kwargs))
        return new

    return steps
