"""The original and the fixed code in eager on inputs that were changed, so that more than one side of a branch runs.

The sample takes one side of each branch. Running again in eager is cheap, and shows whether a rewrite holds on the
other side: with negative numbers, large ones, zeros, one NaN, one infinity, and with huge parameters, which overflow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from graphdoctor.dynamic import numerics, tree
from graphdoctor.dynamic.target import Mode, Sample, Target
from graphdoctor.run_model import Varied

Run = Callable[[Sample], numerics.Snapshot]
Change = Callable[[torch.Tensor], torch.Tensor]

#: What stands in a snapshot in place of outputs: an exception, by type and text.
_RAISED = "raised"


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _is_index_on_a_gpu(tensor: torch.Tensor) -> bool:
    """An index out of range, which raises on a CPU, ends every use of a GPU in this process."""
    return not _is_float(tensor) and tensor.device.type != "cpu"


def _scaled(factor: float) -> Change:
    return lambda tensor: tensor * factor if _is_float(tensor) else tensor


def _large_integers(tensor: torch.Tensor) -> torch.Tensor:
    small = _is_float(tensor) or tensor.dtype is torch.bool or _is_index_on_a_gpu(tensor)
    return tensor if small else tensor * 100


def _negated(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype is torch.bool:
        return ~tensor
    return tensor if _is_index_on_a_gpu(tensor) else -tensor


def _with_one(value: float) -> Change:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        if not _is_float(tensor) or not tensor.numel():
            return tensor
        changed = tensor.clone(memory_format=torch.contiguous_format)
        changed.view(-1)[0] = value
        return changed

    return change


#: By name: what is done with each input and with each parameter; None leaves them.
VARIATIONS: dict[str, tuple[Change | None, Change | None]] = {
    "the inputs as they are": (None, None),
    "the inputs negated": (_negated, None),
    "the inputs times 1000": (_scaled(1e3), None),
    "the inputs times 0.001": (_scaled(1e-3), None),
    "inputs of zeros": (torch.zeros_like, None),
    "inputs of ones": (torch.ones_like, None),
    "one NaN in each input": (_with_one(float("nan")), None),
    "one infinity in each input": (_with_one(float("inf")), None),
    "the parameters negated": (None, _scaled(-1.0)),
    "the parameters times 0.001": (None, _scaled(1e-3)),
    "the parameters times 1e+20": (None, _scaled(1e20)),
    # Last, for they may be sizes, and end the worker at its memory limit.
    "integers times 100": (_large_integers, None),
}

#: Variations that are about guards against overflow: their gradients are not compared.
EXTREME = ("one NaN in each input", "one infinity in each input", "the parameters times 1e+20")


def record(target: Target, mode: Mode, run: Run, folder: Path) -> None:
    """Save what each variation leaves behind, for ``check`` in another process."""
    for number, name in enumerate(VARIATIONS):
        found = _outcome(target, mode, run, name)
        numerics.save(found, folder, f"{mode}-{number}")


def check(target: Target, mode: Mode, run: Run, folder: Path) -> Varied:
    """What each variation leaves behind, compared with what ``record`` saved."""
    calls, differs, raises = 0, "", ""
    for number, name in enumerate(VARIATIONS):
        before = numerics.load(folder, f"{mode}-{number}")
        if before is None:
            continue
        calls += 1
        after = _outcome(target, mode, run, name)
        if _RAISED in before and _RAISED in after:
            if before[_RAISED] != after[_RAISED]:
                raises = raises or f"with {name} it raises {after[_RAISED]}, and the original {before[_RAISED]}"
            continue
        if _RAISED in before or _RAISED in after:
            who, text = ("the original", before[_RAISED]) if _RAISED in before else ("the fixed code", after[_RAISED])
            differs = differs or f"with {name} only {who} raises {text}"
            continue
        where = numerics.compare(_compared(before, name), _compared(after, name), scaled=True).where
        if where:
            differs = differs or f"with {name} {where}"
    return Varied(mode, calls=calls, differs=differs, raises=raises)


def _compared(found: numerics.Snapshot, name: str) -> numerics.Snapshot:
    """``found`` less what the variation does not decide: no training goes on after the numbers have overflowed.

    ``torch.where`` makes NaN of a gradient where the side that is not taken overflows, a branch does not.
    """
    if name not in EXTREME:
        return found
    return {leaf: value for leaf, value in found.items() if not leaf.startswith("gradient")}


def _outcome(target: Target, mode: Mode, run: Run, name: str) -> numerics.Snapshot:
    """The snapshot of one variation. Inputs get gradients where the model takes such inputs."""
    change, change_parameters = VARIATIONS[name]
    try:
        return run(_sample(target, mode, change, change_parameters, gradients=mode == "train"))
    except Exception:
        pass
    try:
        return run(_sample(target, mode, change, change_parameters, gradients=False))
    except Exception as error:
        return {_RAISED: f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"}


def _sample(
    target: Target, mode: Mode, change: Change | None, change_parameters: Change | None, gradients: bool
) -> Sample:
    sample = target.sample(mode)

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        new = tensor.detach() if change is None else change(tensor.detach())
        return new.requires_grad_(tensor.requires_grad or (gradients and _is_float(new)))

    sample.args, sample.kwargs = tree.map_tensors((sample.args, sample.kwargs), changed)
    if change_parameters is not None and sample.module is not None:
        with torch.no_grad():
            for parameter in sample.module.parameters():
                parameter.copy_(change_parameters(parameter))
    return sample
