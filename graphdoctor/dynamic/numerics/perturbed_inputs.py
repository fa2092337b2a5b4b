"""How inputs and parameters are varied for the eager runs that compare the original with the fixed code.

The sample takes one side of each branch, in one dtype. Other signs, magnitudes and dtypes, labels that are all the
same and an empty batch show whether a rewrite holds elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target, seed

#: Gives the tensor itself where it does not apply.
Change = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Variation:
    """What is done with each input and each parameter; None leaves them.

    ``kind`` names inputs of another kind than the sample's, which the original need not accept; once it did not, others
    of the kind are not tried.
    """

    name: str
    inputs: Change | None = None
    parameters: Change | None = None
    kind: str = ""
    #: Gradients overflow or are NaN: no training goes on with them.
    extreme: bool = False
    #: Layers saturate, and may amplify the rounding of a number until nothing else is left of a result.
    saturated: bool = False
    #: Numbers are zero.
    zeros: bool = False
    #: The module is converted to float64, with its buffers.
    double: bool = False
    #: All inputs are cut to a batch of no rows.
    empty: bool = False
    #: Integers leave the range of the sample's: run on the CPU, where an index out of range raises. On a GPU it ends
    #: every use of the device in this process.
    out_of_range: bool = False
    #: The module has run before with the same inputs, and may have noted that: ``if not self.initialized:``.
    second: bool = False


class NotApplicable(Exception):
    """The sample has nothing that the variation changes."""


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _scaled(factor: float) -> Change:
    return lambda tensor: tensor * factor if _is_float(tensor) else tensor


def _shifted(by: int) -> Change:
    return lambda tensor: tensor + by if _is_float(tensor) else tensor


def _large_integers(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if _is_float(tensor) or tensor.dtype is torch.bool else tensor * 100


def _all_same(pick: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    """All integers, or all bools of a mask, are the one that ``pick`` finds in the sample, or True or False."""

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if _is_float(tensor) or not tensor.numel():
            return tensor
        both = torch.tensor([False, True], device=tensor.device) if tensor.dtype is torch.bool else tensor
        return tensor if bool((tensor == pick(both)).all()) else torch.full_like(tensor, pick(both).item())

    return change


def _negated(tensor: torch.Tensor) -> torch.Tensor:
    return ~tensor if tensor.dtype is torch.bool else -tensor


def _with_one(value: float) -> Change:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        if not _is_float(tensor) or not tensor.numel():
            return tensor
        changed = tensor.clone(memory_format=torch.contiguous_format)
        changed.view(-1)[0] = value
        return changed

    return change


def _drawn(scale: float) -> Change:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.numel():
            return tensor
        # A generator of its own: the calls that are compared start from the same state of torch's.
        generator = torch.Generator().manual_seed(tensor.numel())
        if tensor.is_floating_point():
            return (scale * torch.randn(tensor.shape, generator=generator)).to(tensor)
        if tensor.is_complex():
            return tensor
        bound = 2 if tensor.dtype is torch.bool else int(tensor.max()) + 1
        return torch.randint(min(bound - 1, 0), bound, tensor.shape, generator=generator).to(tensor)

    return change


def _double(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def _whole(sign: int) -> Change:
    """Whole numbers of both signs, none of which is a fraction that is cut to 0."""
    return lambda tensor: (tensor * (3 * sign)).round().long() if tensor.is_floating_point() else tensor


#: In this order, so that what time is left for shows most.
VARIATIONS = (
    Variation("the inputs as they are"),
    Variation("the inputs negated", _negated, out_of_range=True),
    Variation("the inputs times 1000", _scaled(1e3)),
    Variation("the inputs times 0.001", _scaled(1e-3)),
    Variation("inputs of zeros", torch.zeros_like, zeros=True),
    Variation("inputs of ones", torch.ones_like),
    # What labels or a mask select: with the smallest often nothing. The floats stay, so that gradients can be compared.
    Variation("integers and masks all at their smallest", _all_same(lambda tensor: tensor.min())),
    Variation("integers and masks all at their largest", _all_same(lambda tensor: tensor.max())),
    Variation("float64", _double, kind="float64", double=True),
    Variation("integers in place of floats", _whole(1), kind="integers in place of floats"),
    Variation("an empty batch", kind="an empty batch", empty=True),
    Variation("one NaN in each input", _with_one(float("nan")), extreme=True),
    Variation("one infinity in each input", _with_one(float("inf")), extreme=True),
    Variation("the parameters negated", None, _scaled(-1.0)),
    Variation("the parameters times 0.001", None, _scaled(1e-3)),
    Variation("the parameters times 1e+20", None, _scaled(1e20), extreme=True, saturated=True),
    Variation("float64, negated", lambda t: -_double(t) if t.is_floating_point() else t, kind="float64", double=True),
    Variation("negated integers in place of floats", _whole(-1), kind="integers in place of floats"),
)

#: Only where a test of the changed code had one outcome so far.
FURTHER = (
    Variation("a second call of the same module", second=True),
    Variation("other random inputs", _drawn(1.0)),
    Variation("the inputs plus 100", _shifted(100), saturated=True),
    Variation("the inputs minus 100", _shifted(-100), saturated=True),
    Variation("the inputs times 1e+06", _scaled(1e6), saturated=True),
    Variation("the inputs times -1e+06", _scaled(-1e6), saturated=True),
    Variation("other random parameters", None, _drawn(3.0)),
    Variation("the parameters plus 100", None, _shifted(100), saturated=True),
    Variation("the parameters minus 100", None, _shifted(-100), saturated=True),
    Variation("parameters of zeros", None, torch.zeros_like),
)

#: Last, for they may be sizes, and end the worker at its memory limit.
LAST = (Variation("integers times 100", _large_integers, out_of_range=True),)

ALL = (*VARIATIONS, *FURTHER, *LAST)


def sample(target: Target, mode: Mode, variation: Variation, gradients: bool) -> Sample:
    """A fresh sample with ``variation``; with ``gradients``, inputs get them. Raises NotApplicable."""
    fresh = target.sample(mode, own=variation.parameters is not None or variation.second)
    if variation.out_of_range and target.device.type != "cpu" and _has_integers(fresh):
        # A model of its own: the others share theirs, which stays where it is.
        fresh = replace(target, device=torch.device("cpu")).sample(mode, own=True)
    module = fresh.module
    changed = variation is ALL[0] or (variation.second and module is not None)
    batch = _batch(fresh) if variation.empty else None
    if variation.double and module is not None:
        changed = any(p.dtype is not torch.float64 for p in module.parameters() if p.is_floating_point())
        module.double()

    def change(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal changed
        before = tensor.detach()
        new = before
        if batch is not None:
            new = before[:0] if before.ndim and before.shape[0] == batch else before
        elif variation.inputs is not None:
            new = variation.inputs(before)
        changed = changed or new is not before
        return new.requires_grad_(_is_float(new) and (tensor.requires_grad or gradients))

    fresh.args, fresh.kwargs = pytree.map_tensors((fresh.args, fresh.kwargs), change)
    if variation.parameters is not None and module is not None:
        with torch.no_grad():
            for parameter in module.parameters():
                new = variation.parameters(parameter)
                changed = changed or new is not parameter
                parameter.copy_(new)
    if not changed:
        raise NotApplicable(variation.name)
    seed()
    return fresh


def _has_integers(fresh: Sample) -> bool:
    inputs = pytree.tensors((fresh.args, fresh.kwargs))
    return any(not _is_float(tensor) and tensor.dtype is not torch.bool for tensor in inputs)


def _batch(fresh: Sample) -> int | None:
    """The number of rows of the first input that has some."""
    tensors = pytree.tensors((fresh.args, fresh.kwargs))
    return next((tensor.shape[0] for tensor in tensors if tensor.ndim and tensor.shape[0]), None)


def dtypes(fresh: Sample) -> set[str]:
    """The dtypes of the input tensors."""
    return {str(tensor.dtype).removeprefix("torch.") for tensor in pytree.tensors((fresh.args, fresh.kwargs))}
