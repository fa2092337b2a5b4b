"""Runs a program on an input in eager, and notes everything that the definition of a safe fix speaks of."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import os
import random
import sys
import types
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from benchmarks.fix_safety.heap import Heap, Table, lasting
from benchmarks.fix_safety.inputs import CALLERS, Input
from benchmarks.fix_safety.program import Program

_SEED = 20
#: In the warnings that operators of torch issue.
_OF_TORCH = "Triggered internally"
_DEFINITIONS = (type, types.FunctionType, types.BuiltinFunctionType)


@torch.library.custom_op("fix_safety::same", mutates_args=())
def _same(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


# The first call of an operator imports parts of torch, which set variables of the environment and filters of warnings.
_same(torch.zeros(()))


@dataclass(frozen=True)
class Call:
    """One call: what was reachable afterwards, the gradients, the random states, and what was written where."""

    exception: str = ""
    heap: Table = field(default_factory=dict)
    gradients: Mapping[str, torch.Tensor | None] = field(default_factory=dict)
    backward_error: str = ""
    #: The state of the module and the globals after the backward pass, which runs hooks.
    afterwards: Table = field(default_factory=dict)
    random: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    output: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """The calls of one object, in order, up to the first that raised; ``failed`` when the program did not load."""

    calls: tuple[Call, ...] = ()
    failed: str = ""


def observe(program: Program, text: str, inputs: Input) -> Observation:
    """Load ``text``, a version of the program, and call it with each argument list of ``inputs``, in order."""
    with _quiet_process(), _seeded():
        module = types.ModuleType(program.name)
        try:
            # What stands at the top level is not what is compared, but it may draw random numbers and print.
            with _Recorder():
                exec(_compiled(text, f"{program.name}.py"), module.__dict__)
                target = getattr(module, program.entry)
                target = target() if isinstance(target, type) else target
        except Exception as error:
            return Observation(failed=f"{type(error).__name__}: {error}")
        calls: list[Call] = []
        for arguments in inputs.build():
            with CALLERS[inputs.caller]():
                calls.append(_call(module, target, arguments))
            if calls[-1].exception:
                break
        return Observation(tuple(calls))


@functools.lru_cache(maxsize=8)
def _compiled(text: str, name: str) -> types.CodeType:
    return compile(text, name, "exec")


def _call(module: types.ModuleType, target: Any, arguments: list[Any]) -> Call:
    environment = dict(os.environ)
    state = Heap(module)
    state.add("target", target)
    state.add("globals", _globals(module))
    earlier = {path: held for path, held in state.objects().items() if path != "globals"}
    with _Recorder() as recorder:
        try:
            result = target(*arguments)
        except Exception as error:
            return Call(exception=f"{type(error).__name__}: {error}"[:200])
        finally:
            # What a program writes into the environment must not reach the next one.
            changed = {k: v for k, v in os.environ.items() if environment.get(k) != v}
            changed |= dict.fromkeys(environment.keys() - os.environ.keys(), "<removed>")
            changed |= _settings()
            os.environ.clear()
            os.environ.update(environment)
    states = random_states()
    heap = Heap(module)
    heap.add("arguments", arguments)
    # A tensor that state held before the call is another thing than one that took its place.
    heap.add("before", earlier)
    heap.add("target", target)
    heap.add("globals", _globals(module))
    heap.add("result", result)
    with _Recorder(), torch.inference_mode(False), torch.enable_grad():
        gradients, error_text = _gradients(heap)
    last = Heap(module)
    last.add("target", target)
    last.add("globals", _globals(module))
    return Call("", heap.table, gradients, error_text, last.table, states, changed, recorder.texts())


def _settings() -> dict[str, str]:
    """Settings of the process that a program may change."""
    names = (name for name in sorted(logging.root.manager.loggerDict) if name.startswith("program"))
    levels = [(log.level, log.disabled, len(log.handlers)) for log in map(logging.getLogger, names)]
    return {
        "grad mode": str(torch.is_grad_enabled()),
        "default dtype": str(torch.get_default_dtype()),
        "threads": str(torch.get_num_threads()),
        "folder": os.getcwd(),
        "recursion limit": str(sys.getrecursionlimit()),
        "logging": f"{logging.root.manager.disable} {levels}",
        "warnings": str([(action, category.__name__) for action, _, category, _, _ in warnings.filters]),
    }


def _globals(module: types.ModuleType) -> dict[str, Any]:
    """Names that the program binds at its top level; imports and operators are not among them, which a fix may add."""
    return {
        name: value for name, value in vars(module).items()
        if not name.startswith("__") and not isinstance(value, (types.ModuleType, logging.Logger, type(_same)))
        and (not isinstance(value, _DEFINITIONS) or value.__module__ == module.__name__)
    }  # fmt: skip


def _gradients(heap: Heap) -> tuple[dict[str, torch.Tensor | None], str]:
    """The gradient of every leaf, of a sum over all that has a history, each element with its own weight."""
    leaves = {p: t for p, t in heap.tensors.items() if _is_leaf(t) and t.requires_grad}
    made = {p: t for p, t in heap.tensors.items() if _is_leaf(t) is False and t.requires_grad}
    for leaf in leaves.values():
        leaf.grad = None
    total = torch.zeros((), dtype=torch.float64)
    generator = torch.Generator().manual_seed(_SEED)
    for _, tensor in sorted(made.items()):
        weight = torch.rand(tensor.shape, generator=generator, dtype=torch.float64) + 0.5
        real = torch.view_as_real(tensor.resolve_conj()).sum(-1) if tensor.dtype.is_complex else tensor
        # The sum may be NaN, and is not compared: the gradient that each tensor gets are its weights.
        total = total + (real.to(torch.float64) * weight).sum()
    error_text = ""
    if made:
        try:
            # A second backward pass works or not by what operators happen to save; state may hold what was made before.
            total.backward(retain_graph=True)  # type: ignore[no-untyped-call]
        except Exception as error:
            error_text = f"{type(error).__name__}: {error}"[:200]
    return {p: None if t.grad is None else t.grad.detach().clone() for p, t in leaves.items()}, error_text


def random_states() -> dict[str, int]:
    """One number each for the states of the three global generators."""
    name, keys, *rest = np.random.get_state()
    return {
        "torch": hash(torch.get_rng_state().numpy().tobytes()),
        "random": hash(random.getstate()),
        "numpy": hash((name, np.asarray(keys).tobytes(), *map(repr, rest))),
    }


class _Recorder(contextlib.AbstractContextManager["_Recorder"]):
    """Records what is printed, logged and warned of."""

    def __init__(self) -> None:
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self.records: list[str] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Recorder:
        self._stack.enter_context(contextlib.redirect_stdout(self.stdout))
        self._stack.enter_context(contextlib.redirect_stderr(self.stderr))
        self.warnings = self._stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        handler = logging.Handler()
        handler.emit = lambda r: self.records.append(f"{r.name} {r.levelname} {r.getMessage()}")  # type: ignore[method-assign]
        root = logging.getLogger()
        handlers = root.handlers[:]
        root.handlers[:] = [handler]

        def restore() -> None:
            root.handlers[:] = handlers

        self._stack.callback(restore)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def texts(self) -> dict[str, str]:
        """What went where, without addresses."""
        shown = [f"{w.category.__name__} {w.message}" for w in self.warnings or ()]
        warned = "\n".join(text for text in shown if _OF_TORCH not in text)
        texts = {"stdout": self.stdout.getvalue(), "stderr": self.stderr.getvalue()}
        texts |= {"log": "\n".join(self.records), "warnings": warned}
        texts["warnings of torch"] = "\n".join(sorted({text for text in shown if _OF_TORCH in text}))
        return {name: lasting(text) for name, text in texts.items()}


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """All generators at a fixed start; afterwards as they were."""
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    # torch.manual_seed would note for each accelerator from where it was called.
    torch.default_generator.manual_seed(_SEED)
    random.seed(_SEED)
    np.random.seed(_SEED)
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])


@contextlib.contextmanager
def _quiet_process() -> Iterator[None]:
    """torch.compile gives back what it is given, and torch warns each time rather than once in a process."""
    compiled, always = torch.compile, torch.is_warn_always_enabled()
    level = logging.root.level
    # Changing a level takes long: it clears what all loggers know.
    logging.root.setLevel(logging.DEBUG)
    settings = torch.is_grad_enabled(), torch.get_default_dtype(), logging.root.manager.disable

    def eager(model: Any = None, **options: Any) -> Any:
        return model if model is not None else lambda function: function

    torch.compile = eager  # type: ignore[assignment]
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_grad_enabled(settings[0])
        torch.set_default_dtype(settings[1])
        if logging.root.manager.disable != settings[2]:
            logging.disable(settings[2])
        logging.root.setLevel(level)
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("program")]:
            del logging.root.manager.loggerDict[name]
        torch.compile = compiled
        torch.set_warn_always(always)


def _is_leaf(tensor: torch.Tensor) -> bool | None:
    """None for a view of inference mode whose base was written to outside it: torch says nothing of it but an error."""
    try:
        return tensor.is_leaf
    except RuntimeError:
        return None
