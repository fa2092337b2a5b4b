"""Which calls to make: the file's variants, those of ``--vary``, or a few sizes near those of the sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.parent import vary_specs
from graphdoctor.dynamic.parent.vary_specs import AXES, Variation
from graphdoctor.dynamic.recompiles import arguments, axes, compiled_calls
from graphdoctor.dynamic.recompiles.axes import Group
from graphdoctor.dynamic.recompiles.compiled_calls import Step
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target, call_arguments, seed

#: Calls with equal inputs in an automatic sweep.
REPEATS = 4


@dataclass(frozen=True)
class Plan:
    """Calls to make in order. ``steps`` makes them anew; ``sizes`` are those that an automatic plan goes through."""

    varied: str
    steps: Callable[[], list[Step]]
    sizes: tuple[int, ...] = ()
    detail: str = ""
    automatic: bool = False


@dataclass(frozen=True)
class _Inputs:
    """The arguments of the sample, by name and taken apart."""

    named: dict[str, Any]
    leaves: dict[str, Any]

    def find(self, name: str) -> Any:
        """The leaf of this name, or the argument of this number."""
        if not name.isdigit():
            return self.leaves.get(name)
        return dict(enumerate(self.named.values())).get(int(name))


def _inputs(target: Target, mode: Mode) -> _Inputs:
    sample = target.sample(mode)
    sample_arguments = sample.args, sample.kwargs
    return _Inputs(
        arguments.named(sample.function, sample_arguments), arguments.leaves(sample.function, sample_arguments)
    )


def variants(target: Target) -> list[Plan]:
    """The calls of ``graphdoctor_variants()``: arguments, or functions that change the model between two calls."""
    if target.variants is None:
        return []
    made = target.variants

    def steps() -> list[Step]:
        seed()
        return [_step(target, variant) for variant in made()]

    return [Plan("graphdoctor_variants()", steps)]


def _step(target: Target, variant: Any) -> Step:
    if callable(variant) and not isinstance(variant, nn.Module):
        return Step(change=variant)
    args, kwargs = target.on_device(call_arguments(variant))
    return Step(args, kwargs)


def requested(target: Target, mode: Mode, variations: Sequence[Variation]) -> list[Plan]:
    """One plan for each ``--vary``. Raises InputSpecError where the sample has no such argument or dimension."""
    return [_requested(target, mode, variation) for variation in variations]


def check(target: Target, variations: Sequence[Variation]) -> None:
    """Raises the InputSpecError that ``requested`` would raise, and runs nothing."""
    for variation in variations:
        _resolved(variation, _inputs(target, "eval"))


def _requested(target: Target, mode: Mode, variation: Variation) -> Plan:
    name, groups = _resolved(variation, _inputs(target, mode))
    values = variation.values
    if groups:
        _, steps, detail = _resizing(target, mode, groups, [int(value) for value in values])
        return Plan(variation.spec, steps, detail=detail)
    if variation.kind == "mode":
        return Plan(variation.spec, lambda: [replace(_base(target, mode), training=v == "train") for v in values])
    if variation.kind == "grad":
        return Plan(variation.spec, lambda: [replace(_base(target, mode), grad=v == "on") for v in values])
    return Plan(variation.spec, lambda: [_with(target, mode, name, v) for v in values])


def _resolved(variation: Variation, inputs: _Inputs) -> tuple[str, list[Group]]:
    """The input that a variation names, and for sizes the groups of dimensions to try. Raises InputSpecError."""
    if variation.kind in ("mode", "grad"):
        return "", []
    value: Any = inputs.find(variation.name)
    if variation.kind == "axis" and not isinstance(value, (int, float)):
        groups = axes.of(AXES[variation.name], inputs.leaves)
        if not groups:
            raise vary_specs.error(
                variation.spec, f"the sample has no {variation.name} dimension", "name one, like x:0=4,5"
            )
        return "", groups
    what = "number" if variation.kind in ("axis", "value") else "tensor"
    wanted: Any = (int, float) if what == "number" else torch.Tensor
    if not isinstance(value, wanted):
        known = ", ".join(name for name, leaf in inputs.leaves.items() if isinstance(leaf, wanted)) or "none"
        raise vary_specs.error(
            variation.spec, f"no {what} argument {variation.name!r}", f"{what}s of the sample: {known}"
        )
    name = next(name for name, leaf in inputs.leaves.items() if leaf is value)
    if variation.dimension is None:
        return name, []
    if not -value.ndim <= variation.dimension < value.ndim:
        shape = list(value.shape)
        raise vary_specs.error(
            variation.spec, f"{name} has no dimension {variation.dimension}", f"its shape is {shape}"
        )
    return name, axes.tied(name, variation.dimension % value.ndim, inputs.leaves)


def together(target: Target, mode: Mode) -> Plan | None:
    """The sample twice, then batch and sequence of one more, and of two more: few calls that show whether all is well.

    None where no size is recognised. Whether eager takes the sizes is not asked: a call that raises says less. In eval
    mode the calls are made without gradients: what a backward of the larger batches needs would be most of the memory.
    """
    leaves = _inputs(target, mode).leaves
    groups = {axis: found[0] for axis in ("batch", "sequence") if (found := axes.of(axis, leaves))}
    if not groups or (len(groups) == 2 and groups["batch"] & groups["sequence"]):
        return None
    starts = {axis: leaves[name].shape[dimension] for axis, group in groups.items() for name, dimension in [min(group)]}

    def steps(mores: Sequence[int]) -> list[Step]:
        sizes = [{place: starts[axis] + m for axis in groups for place in groups[axis]} for m in mores]
        grad = False if mode == "eval" else None
        return [replace(_resized(target, mode, wanted), grad=grad) for wanted in sizes]

    varied = [f"{axis} {', '.join(str(start + more) for more in (0, 0, 1, 2))}" for axis, start in starts.items()]
    sizes = tuple(next(iter(starts.values())) + more for more in (0, 0, 1, 2))
    return Plan(" and ".join(varied), lambda: steps((0, 0, 1, 2)), sizes, automatic=True)


def batches(target: Target, mode: Mode) -> list[tuple[int, Callable[[int], Sample]]]:
    """The batch of the sample, and what makes one of another size: for each guess at the dimensions of the batch."""
    leaves = _inputs(target, mode).leaves

    def resized(group: Group, size: int) -> Sample:
        step, sample = _resized(target, mode, dict.fromkeys(group, size)), target.sample(mode)
        sample.args, sample.kwargs = step.args, dict(step.kwargs)
        return sample

    found: list[tuple[int, Callable[[int], Sample]]] = []
    for group in axes.of("batch", leaves):
        name, dimension = min(group)
        found.append((leaves[name].shape[dimension], partial(resized, group)))
    return found


def repeated(target: Target, mode: Mode) -> Plan:
    """The sample again and again."""
    return Plan(
        f"the same inputs, {REPEATS} calls", lambda: [_base(target, mode) for _ in range(REPEATS)], automatic=True
    )


def automatic(target: Target, mode: Mode) -> list[Plan]:
    """The sample again and again, batch n, n + 1, n + 2 and 1, and the sequence dimension where one is recognised.

    What eager refuses is left out. Equal inputs show the state that makes Dynamo compile again, and come twice before
    other sizes; n + 2 tells a dimension that became dynamic from one that is compiled for each size.
    """
    leaves = _inputs(target, mode).leaves
    found = [repeated(target, mode)]
    for axis in ("batch", "sequence"):
        groups = axes.of(axis, leaves)
        if not groups:
            continue
        name, dimension = min(groups[-1])
        n = leaves[name].shape[dimension]
        wanted = [n, n + 1, n + 2, 1] if axis == "batch" else [n, n + 1, n + 2]
        sizes, steps, detail = _resizing(target, mode, groups, [n, *dict.fromkeys(wanted)])
        if len(set(sizes)) >= 3:
            found.append(Plan(f"{axis} {', '.join(map(str, sizes))}", steps, sizes, detail, automatic=True))
    return found


def _resizing(
    target: Target, mode: Mode, groups: Sequence[Group], wanted: Sequence[int]
) -> tuple[tuple[int, ...], Callable[[], list[Step]], str]:
    """The sizes that eager accepts, the steps through them, and what it refused: of the group that it accepts best."""
    tried = []
    for group in groups:
        raised = compiled_calls.in_eager(target, mode, partial(_through, target, mode, group, wanted))
        tried.append((group, list(zip(wanted, raised, strict=True))))
        if not any(raised):
            break
    group, results = max(tried, key=lambda t: sum(error is None for _, error in t[1]))
    sizes = tuple(size for size, error in results if error is None)
    refused = [f"size {size} raises {type(error).__name__} in eager" for size, error in results if error is not None]
    return sizes, partial(_through, target, mode, group, sizes), "; ".join(refused)


def _through(target: Target, mode: Mode, group: Group, sizes: Sequence[int]) -> list[Step]:
    return [_resized(target, mode, dict.fromkeys(group, size)) for size in sizes]


def _base(target: Target, mode: Mode) -> Step:
    sample = target.sample(mode)
    return Step(sample.args, sample.kwargs)


def _resized(target: Target, mode: Mode, sizes: Mapping[tuple[str, int], int]) -> Step:
    def change(name: str, value: Any) -> Any:
        for dimension, size in [(d, size) for (n, d), size in sizes.items() if n == name]:
            # The same values over again: indices and masks stay valid.
            index = torch.arange(size, device=value.device) % max(value.shape[dimension], 1)
            value = value.detach().index_select(dimension, index).requires_grad_(value.requires_grad)
        return value

    return _changed(target, mode, change)


def _with(target: Target, mode: Mode, wanted: str, new: Any) -> Step:
    def change(name: str, value: Any) -> Any:
        if name != wanted:
            return value
        return value.to(getattr(torch, new)) if isinstance(new, str) else new

    return _changed(target, mode, change)


def _changed(target: Target, mode: Mode, change: arguments.Change) -> Step:
    sample = target.sample(mode)
    return Step(*arguments.changed(sample.function, (sample.args, sample.kwargs), change))
