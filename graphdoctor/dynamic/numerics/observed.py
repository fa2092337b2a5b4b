"""Everything that one eager call leaves behind and that other code could notice, and how two such calls differ."""

from __future__ import annotations

import ast
import contextlib
import io
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from types import ModuleType
from typing import Any

import torch

from graphdoctor.breaks.messages import one_line
from graphdoctor.dynamic.numerics import comparison, state
from graphdoctor.dynamic.numerics.comparison import Snapshot
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.dynamic.user_code.target import Sample

#: Calls a sample: its outputs, and the loss where one was computed and went backward.
Call = Callable[[Sample], tuple[Any, torch.Tensor | None]]

#: What stands in a snapshot in place of all else where the call raised: the type of the exception, its first line,
#: whether a ``raise`` or an ``assert`` of the scanned code raised it, and whether a Python number did: a division by
#: zero, or a NaN that was made an int.
RAISED = "raised"
TEXT = "text of what was raised"
DELIBERATE = "raised on purpose"
BY_NUMBER = "raised by a number"

#: The names of the two snapshots that are compared.
Sides = tuple[str, str]
VERIFIED: Sides = ("the original", "the fixed code")

MEMORY, GRADIENT, DEVICE, STATE = "the memory of ", "requires_grad of ", "the device of ", "written: "
OWN, _ITSELF = "its own", " itself"
RANDOM = "the state of "
#: The key of a plain attribute of a module that was written.
_ATTRIBUTE = f"{STATE}attribute "
_PARTS = (STATE, MEMORY, GRADIENT, DEVICE)
_OUTPUT, LOSS, GRADIENT_OF = "standard output", "loss", "gradient of "
_SAVED = "the names in the state_dict"
_LONGEST = 100_000


def observe(sample: Sample, call: Call, modules: Sequence[ModuleType], expected: Collection[str] = ()) -> Snapshot:
    """Outputs, inputs, buffers, gradients, parameters; what shares memory; what was written to attributes and to the
    globals of ``modules``; random numbers, settings and standard output.

    Of the leaves called ``expected``, what is there afterwards counts as written, although it was there before.
    """
    before = state.of(sample, modules)
    memory = _Memory(sample)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        outputs, loss = call(sample)
    names = {name.removeprefix(STATE) for name in expected if name.startswith(STATE)}
    changed = state.written(before, state.of(sample, modules), names)
    found = comparison.snapshot(sample, outputs)
    if loss is not None:
        found[LOSS] = loss.detach().clone()
    tensors = {**_tensors(sample.args, "input"), **_tensors(sample.kwargs, "input"), **_tensors(outputs, "output")}
    for name, tensor in {**tensors, **changed.tensors}.items():
        found[f"{GRADIENT}{name}"] = tensor.requires_grad
        found[f"{DEVICE}{name}"] = str(tensor.device)
    for name, tensor in {**_tensors(outputs, "output"), **changed.tensors}.items():
        found[f"{MEMORY}{name}"] = owner = memory.owner(name, tensor)
        if owner.endswith(_ITSELF):
            # Its gradient is that of the other.
            found.pop(f"{GRADIENT_OF}{name}", None)
    found |= {f"{STATE}{name}": value for name, value in changed.leaves.items()}
    found |= _parameters(sample)
    found[_SAVED] = _saved(sample)
    found |= state.random_numbers()
    found |= _settings()
    found[_OUTPUT] = printed.getvalue()[-_LONGEST:]
    return found


def of_error(error: Exception, is_own: Callable[[str], bool]) -> Snapshot:
    """The observation of a call that raised; ``is_own`` returns whether a file is the user's."""
    kind = type(error).__name__
    text = f"{kind}: {one_line(str(error).partition(chr(10))[0])}"[:200]
    by_number = isinstance(error, ArithmeticError) or "cannot convert float" in text
    return {RAISED: kind, TEXT: text, DELIBERATE: _is_deliberate(error, is_own), BY_NUMBER: by_number}


def differences(expected: Snapshot, actual: Snapshot, sides: Sides = VERIFIED) -> Iterator[tuple[str, str]]:
    """Each leaf in which the two differ, and a clause with the difference; tolerances are those of the dtype."""
    before, after = sides
    # The outputs first, then what was written, then whose memory it is: these explain the others.
    order = ("output", STATE, MEMORY)
    names = sorted(dict.fromkeys([*expected, *actual]), key=lambda n: [not n.startswith(start) for start in order])
    for name in names:
        if name not in expected or name not in actual:
            yield name, _one_sided(name, sides if name in expected else (after, before), expected, actual)
            continue
        a, b = expected[name], actual[name]
        where = comparison.compare({name: a}, {name: b}, scaled=True).where
        if where is None:
            continue
        if name.startswith(RANDOM):
            yield name, f"{name} differs: other random numbers follow"
        elif name.startswith((MEMORY, GRADIENT, DEVICE, "the setting ")):
            yield name, f"{name} is {a} in {before} and {b} in {after}"
        elif name.startswith(STATE):
            yield name, f"what is written differs, {where.removeprefix(STATE)}"
        else:
            yield name, where


def is_harmless(name: str, before: Snapshot, after: Snapshot) -> bool:
    """Whether few callers notice the difference: memory that is no longer shared, and a written number that is a 0-d
    tensor in one and a Python number of the same value in the other."""
    if name.startswith(MEMORY):
        return bool(after.get(name) == OWN) or _is_kind_of_number(name, before, after)
    return _is_kind_of_number(name, before, after)


def is_known(name: str, known: Collection[str], before: Snapshot, after: Snapshot) -> bool:
    """Whether fixes that announce the differences ``known`` (``graphdoctor.model.Known``) may differ in this leaf."""
    if "zero_gradients" in known and _is_zero_gradient(name, before, after):
        return True
    if "flag" in known and name.startswith(f"{GRADIENT}input"):
        return before.get(name) is False and after.get(name) is True
    if name.startswith(GRADIENT_OF):
        # A result that was a leaf of its own, such as a zero that requires gradients.
        is_result = (name + "[").startswith(f"{GRADIENT_OF}output[") and name not in after
        return "gradients" in known or (is_result and "requires_grad" in known)
    if "early" in known and (name.startswith(RANDOM) or (name.startswith("parameter ") and name not in before)):
        return True
    if name == _SAVED:
        return "early" in known and set(before.get(name, ())) < set(after.get(name, ()))
    if "unsaved" in known and name.startswith("buffer ") and name not in before:
        return name.removeprefix("buffer ") not in after.get(_SAVED, ())
    if "unsaved" in known and name.startswith(_ATTRIBUTE) and name not in after:
        return _is_same_number(before.get(name), after.get(f"buffer {name.removeprefix(_ATTRIBUTE)}"))
    if "early" in known and name.startswith(STATE) and name.endswith(".training"):
        # What is made with the module follows its train() and eval().
        return True
    if "anew" in known and name in before and name not in after:
        return name.startswith(tuple(f"{part}attribute " for part in _PARTS))
    # Where nothing needs a gradient, there is nothing to go backward from.
    is_result = name.startswith(GRADIENT) and not name.startswith(f"{GRADIENT}input")
    return "requires_grad" in known and (is_result or name == LOSS)


def _is_zero_gradient(name: str, before: Snapshot, after: Snapshot) -> bool:
    """Whether the leaf is new because a result requires a gradient, which is zero, and did not before."""
    if name.startswith(GRADIENT):
        return before.get(name) is False and after.get(name) is True
    value = after.get(name)
    if name in before or not isinstance(value, torch.Tensor):
        return False
    return name == LOSS or (name.startswith(GRADIENT_OF) and not value.count_nonzero())


def has_overflowed(name: str, before: Snapshot, after: Snapshot) -> bool:
    """Whether these are gradients that differ only where one of the two is NaN or infinite."""
    a, b = before.get(name), after.get(name)
    if name not in before and isinstance(b, torch.Tensor) and not b.isfinite().all():
        a = torch.zeros_like(b)
    if not name.startswith(GRADIENT_OF) or not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return False
    if a.shape != b.shape or a.layout is not torch.strided or b.layout is not torch.strided:
        return False
    finite = a.isfinite() & b.isfinite()
    here, there = a.masked_fill(~finite, 0), b.masked_fill(~finite, 0)
    return comparison.compare({name: here}, {name: there}, scaled=True).where is None


def _is_kind_of_number(name: str, before: Snapshot, after: Snapshot) -> bool:
    written = STATE + next((name.removeprefix(part) for part in _PARTS if name.startswith(part)), name)
    number, tensor = before.get(written), after.get(written)
    return _is_same_number(tensor, number) if isinstance(number, torch.Tensor) else _is_same_number(number, tensor)


def _is_same_number(number: Any, tensor: Any) -> bool:
    """Whether a Python number has the value of a 0-d tensor."""
    if not isinstance(number, (bool, int, float)) or not isinstance(tensor, torch.Tensor) or tensor.ndim:
        return False
    return comparison.compare({"": float(number)}, {"": float(tensor)}).where is None


def _one_sided(name: str, sides: Sides, expected: Snapshot, actual: Snapshot) -> str:
    """What only the first of ``sides`` leaves behind."""
    who, other = sides
    value = expected.get(name, actual.get(name))
    shown = "" if isinstance(value, torch.Tensor) else f" ({value!r})"
    if name.startswith(STATE):
        return f"only {who} writes {name.removeprefix(STATE)}{shown[:60]}"
    if name.startswith(GRADIENT_OF):
        zeros = isinstance(value, torch.Tensor) and not value.count_nonzero()
        return f"{name} is None in {other} and {'zero' if zeros else 'a tensor'} in {who}"
    return f"{name} is there in {who} only"


def _tensors(value: Any, name: str) -> dict[str, torch.Tensor]:
    return {path: leaf for path, leaf in pytree.leaves(value, name).items() if isinstance(leaf, torch.Tensor)}


class _Memory:
    """Which tensor owned a piece of memory first: inputs, parameters, buffers, then what a call gave."""

    def __init__(self, sample: Sample) -> None:
        self._names: dict[int, str] = {}
        self._storages: dict[int, str] = {}
        self._kept: list[object] = []
        for name, tensor in {**_tensors(sample.args, "input"), **_tensors(sample.kwargs, "input")}.items():
            self.owner(name, tensor)
        if sample.module is not None:
            for name, tensor in sample.module.named_parameters():
                self.owner(f"parameter {name}", tensor)
            for name, tensor in sample.module.named_buffers():
                self.owner(f"buffer {name}", tensor)

    def owner(self, name: str, tensor: torch.Tensor) -> str:
        """``input[0] itself``, ``shared with input[0]`` or ``its own``."""
        storage = _storage(tensor)
        # ``p.data = p.data * m`` gives the old memory up, which the next tensor might get; so it is kept, too.
        self._kept += (tensor, storage)
        place = storage.data_ptr() if storage is not None else 0
        known = self._names.setdefault(id(tensor), name)
        first = self._storages.setdefault(place, name) if place else name
        if known != name:
            return f"that of {known}{_ITSELF}"
        return f"shared with {first}" if first != name else OWN


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """The memory; None where there is none to share."""
    try:
        storage = tensor.untyped_storage() if tensor.numel() else None
        return storage if storage is not None and storage.data_ptr() else None
    except (RuntimeError, NotImplementedError):  # sparse tensors and subclasses without a storage
        return None


def _parameters(sample: Sample) -> Snapshot:
    """Two numbers for each parameter, for a call may write to it."""
    if sample.module is None:
        return {}
    found = ((name, parameter) for name, parameter in sample.module.named_parameters() if not parameter.is_meta)
    return {f"parameter {name}": state.digest(p) for name, p in found if p.layout is torch.strided}


def _saved(sample: Sample) -> list[str]:
    """What a checkpoint of the module holds; its values are compared as parameters and buffers."""
    return [] if sample.module is None else sorted(sample.module.state_dict(keep_vars=True))


def _settings() -> Snapshot:
    return {
        "the setting default dtype": str(torch.get_default_dtype()),
        "the setting grad mode": torch.is_grad_enabled(),
        "the setting inference mode": torch.is_inference_mode_enabled(),
        "the setting deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "the setting float32 matmul precision": torch.get_float32_matmul_precision(),
        "the setting number of threads": torch.get_num_threads(),
    }


def _is_deliberate(error: Exception, is_own: Callable[[str], bool]) -> bool:
    """Whether a ``raise`` or an ``assert`` of the user's code raised ``error``, and not an operator it calls."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or frames[-1].lineno is None or not is_own(frames[-1].filename):
        return False
    line = frames[-1].lineno
    try:
        parsed = ast.parse(source_of(frames[-1].filename))
    except (SyntaxError, ValueError, RecursionError):
        return False
    statements = (node for node in ast.walk(parsed) if isinstance(node, (ast.Raise, ast.Assert)))
    return any(node.lineno <= line <= (node.end_lineno or node.lineno) for node in statements)
