"""Private parts of torch that graphdoctor reads, changes or switches on: the one module that knows them by name.

What not every version of torch has is guarded: without it, something is left undone. The recorder, which runs in the
user's program and imports nothing of graphdoctor, uses some itself (graphdoctor/recorder/torch_hooks.py).
``torch._dynamo.reset`` and ``torch._dynamo.config`` are documented, and used anywhere.
"""

from __future__ import annotations

import copy
import inspect
import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch._dynamo.guards
import torch._guards
import torch.utils.checkpoint as checkpointing
from torch import fx
from torch._dynamo import bytecode_transformation, convert_frame, eval_frame, pgo, utils
from torch._dynamo.exc import TorchDynamoException
from torch._dynamo.utils import counters
from torch.utils._python_dispatch import TorchDispatchMode

from graphdoctor.recorder.torch_hooks import watch_lines

__all__ = [
    "DYNAMO_FOLDER",
    "ISOLATES",
    "Backend",
    "NoCompiledAutograd",
    "TorchDispatchMode",
    "TorchDynamoException",
    "backend",
    "checkpoints_without_gradients",
    "compiled_autograd",
    "config_copy",
    "counters",
    "exact_lines",
    "forget_divergences",
    "headers_in_cache_folder",
    "inductor_config",
    "inductor_modes",
    "jumps_back",
    "keep_random_state_of_checkpoints",
    "same_buffer_hooks",
    "same_code_caches",
    "same_config",
    "same_dynamic_sizes",
    "same_records",
    "set_inductor",
    "skip_guard_timing",
    "stack_being_traced",
    "traced_lines",
]

#: Since torch 2.13, ``torch.compile(isolate_recompiles=True)`` keeps its compiled code apart from all other.
ISOLATES = "isolate_recompiles" in inspect.signature(torch.compile).parameters
#: The folder of Dynamo's own files.
DYNAMO_FOLDER = Path(torch._dynamo.__file__).parent
#: Collections of torch._dynamo.utils; some torch versions do not have all of them.
_RECORDS = ("counters", "graph_break_reasons", "guard_failures", "warn_once_cache", "_compilation_metrics")
#: In torch._inductor.codecache; not every version has them.
_HEADER_FOLDERS = ("_HEADER_DIR", "_HEADER_LOCK_DIR")
#: The most units of code that an entry of a line table stands for (Objects/locations.md of CPython).
_ENTRY = 8

#: A backend, or what it compiles a graph to.
Backend = Callable[..., Any]


def config_copy() -> dict[str, Any]:
    """The values of torch._dynamo.config by name."""
    values: dict[str, Any] = torch._dynamo.config.get_config_copy()
    return values


def set_inductor(call: Callable[[fx.GraphModule, Sequence[Any]], Backend]) -> None:
    """Let ``call`` compile the graphs of every ``torch.compile`` that would use inductor.

    ``_TorchCompileInductorWrapper`` (torch/__init__.py) is what ``torch.compile`` makes of ``backend="inductor"``.
    """

    def called(_self: object, graph: fx.GraphModule, example_inputs: Sequence[Any]) -> Backend:
        return call(graph, example_inputs)

    torch._TorchCompileInductorWrapper.__call__ = called  # type: ignore[method-assign, assignment]


def backend(name: str) -> Backend:
    """The backend that torch registers as ``name``. Raises what importing it raises."""
    if name == "inductor":
        # By its function: the worker puts another backend behind the name (``set_inductor``).
        from torch._inductor.compile_fx import compile_fx

        return compile_fx
    from torch._dynamo.backends.registry import lookup_backend

    found: Backend = lookup_backend(name)
    return found


def inductor_modes() -> dict[str, Any]:
    """The modes of ``torch.compile`` that this torch has, with their options."""
    modes: dict[str, Any] = torch._inductor.list_mode_options()
    return modes


def inductor_config(**values: Any) -> AbstractContextManager[Any]:
    """A context in which inductor has these settings. Raises ImportError where torch has no inductor."""
    from torch._inductor import config

    patched: AbstractContextManager[Any] = config.patch(**values)
    return patched


@contextmanager
def headers_in_cache_folder() -> Iterator[None]:
    """Precompiled C++ headers go to the cache folder that is set; torch keeps them where all processes share them."""
    codecache, folder = sys.modules.get("torch._inductor.codecache"), os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    before = {name: getattr(codecache, name) for name in _HEADER_FOLDERS if folder and hasattr(codecache, name)}
    for name, shared in before.items():
        setattr(codecache, name, os.path.join(str(folder), *Path(shared).parts[-2:]))
    try:
        yield
    finally:
        for name, shared in before.items():
            setattr(codecache, name, shared)


class NoCompiledAutograd(Exception):
    """This torch has no compiled autograd that can be switched on from outside."""


def forget_divergences() -> None:
    """Forget the formulas that ``kl_divergence`` has looked up for two classes of distributions.

    The eager run before looks them up; a program that compiles first has none, and the lookup is not traced.
    """
    known = getattr(sys.modules.get("torch.distributions.kl"), "_KL_MEMOIZE", None)
    if isinstance(known, dict):
        known.clear()


def skip_guard_timing() -> None:
    """Leave out how Dynamo times the guards at the end of each compile: it flushes the CPU's caches to do so.

    That is a seventh of the compile of a small model, and nobody reads the time here
    (``CheckFunctionManager``, torch/_dynamo/guards.py, since torch 2.6).
    """
    if hasattr(torch._dynamo.guards, "profile_guard_manager"):
        torch._dynamo.guards.profile_guard_manager = lambda *_: 0.0


@contextmanager
def exact_lines() -> Iterator[None]:
    """Let the code that Dynamo makes of what is after a graph break have the lines of the source.

    An instruction of more than 8 units takes several entries of its line table, and Dynamo counts the lines that it is
    further down in each of them. So after ``.float()`` on a line of its own all lines are too large
    (``linetable_311_writer``, torch/_dynamo/bytecode_transformation.py).
    """
    usual = getattr(bytecode_transformation, "linetable_311_writer", None)
    if usual is None:
        yield
        return

    def writer(first_line: int) -> tuple[list[int], Callable[[Any, int], None]]:
        table, write = usual(first_line)

        def write_exactly(positions: Any, size: int) -> None:
            while size > _ENTRY:
                write(positions, _ENTRY)
                size -= _ENTRY
            write(positions, size)

        return table, write_exactly

    with mock.patch.object(bytecode_transformation, "linetable_311_writer", writer):
        yield


def stack_being_traced() -> Iterable[Any]:
    """The frames that Dynamo is tracing now, outermost first, as FrameSummary objects."""
    return torch._guards.TracingContext.extract_stack()


@contextmanager
def traced_lines(paths: Iterable[str]) -> Iterator[dict[str, set[int]]]:
    """Collect, by path as given, the lines that Dynamo traces inside the block; none where this torch does not tell."""
    lines: dict[str, set[int]] = {path: set() for path in paths}
    context = torch._guards.TracingContext
    usual = vars(context).get("set_current_loc")
    if not lines or usual is None:
        yield lines
        return
    every: dict[str, set[int]] = {}
    # With an empty dict of newest lines it would call ``keep_lines``; a scan has ``exact_lines`` for that.
    watch_lines(every, dict.fromkeys(lines, 0))
    try:
        yield lines
    finally:
        context.set_current_loc = usual  # type: ignore[method-assign]
        real = {os.path.realpath(path): found for path, found in lines.items()}
        for name, found in every.items():
            real.get(os.path.realpath(name), set()).update(found)


def jumps_back(translator: object) -> bool:
    """Whether the code that ``translator`` traces has a jump back from behind the instruction it is at, as a loop has.

    Versions that give up the function then have a method that tells (torch 2.9, ``InstructionTranslatorBase``).
    """
    ask = getattr(translator, "maybe_has_backedge", None)
    return ask is not None and bool(ask())


def keep_random_state_of_checkpoints() -> None:
    """Let graphs that run as traced draw the same random numbers where a checkpoint computes anew, as eager code does.

    The operator of a checkpoint in a graph leaves that to what compiles the graph, and without a compiler dropout gives
    wrong gradients (``TagActivationCheckpoint``, torch/_higher_order_ops/wrap.py; it imports ``checkpoint`` in each
    call). Graphs that are being traced get it as it is.
    """
    operator = getattr(torch.ops.higher_order, "tag_activation_checkpoint", None)
    if operator is None:
        return
    kind: Any = type(operator)
    usual, plain = kind.__call__, checkpointing.checkpoint

    def keeping(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **{**kwargs, "preserve_rng_state": True})

    def called(self: object, *args: Any, **kwargs: Any) -> Any:
        if torch._guards.detect_fake_mode(args) is not None:
            return usual(self, *args, **kwargs)
        with mock.patch.object(checkpointing, "checkpoint", keeping):
            return usual(self, *args, **kwargs)

    kind.__call__ = called


@contextmanager
def checkpoints_without_gradients() -> Iterator[list[bool]]:
    """Note each reentrant checkpoint that is given nothing that requires gradients, for which torch warns.

    Eager code gets no gradients of what it computes then; compiled code does
    (``check_backward_validity``, torch/utils/checkpoint.py).
    """
    seen: list[bool] = []
    usual = getattr(checkpointing, "check_backward_validity", None)
    if usual is None:
        yield seen
        return

    def noting(inputs: Iterable[Any]) -> None:
        given = [each for each in inputs if isinstance(each, torch.Tensor)]
        if not any(tensor.requires_grad for tensor in given):
            seen.append(True)
        usual(given)

    with mock.patch.object(checkpointing, "check_backward_validity", noting):
        yield seen


def compiled_autograd(backend: Callable[..., Any]) -> AbstractContextManager[Any]:
    """A context in which Dynamo traces ``backward`` (torch/_dynamo/compiled_autograd.py). Raises NoCompiledAutograd."""
    try:
        from torch._dynamo.compiled_autograd import _enable
    except ImportError:
        raise NoCompiledAutograd(f"torch {torch.__version__} has no torch._dynamo.compiled_autograd") from None
    context: AbstractContextManager[Any] = _enable(torch.compile(backend=backend))
    return context


@contextmanager
def same_buffer_hooks() -> Iterator[None]:
    """Take away what the block leaves to be called for each buffer that is set.

    Before torch 2.13 an export that fails leaves such a hook, and compiled code that writes to a buffer breaks there.
    """
    hooks = getattr(torch.nn.modules.module, "_global_buffer_registration_hooks", {})
    before = dict(hooks)
    try:
        yield
    finally:
        for key in [key for key in hooks if key not in before]:
            del hooks[key]


@contextmanager
def same_code_caches() -> Iterator[None]:
    """Leave the compiled code of others as it was. Before torch 2.13 all compiled code is dropped, after it only ours.

    It hangs on the code objects of functions, of which Dynamo keeps a list.
    """
    if not ISOLATES:
        torch._dynamo.reset()
        try:
            yield
        finally:
            torch._dynamo.reset()
        return
    tracked = convert_frame.input_codes
    known = [code for reference in tracked.seen if (code := reference()) is not None]
    for code in known:
        # Dynamo has given up on these, and would pass over them without a word.
        if not eval_frame._get_total_cache_entry_count(code):
            eval_frame.remove_from_cache(code)
    before = {id(code) for code in known}
    try:
        yield
    finally:
        for reference in tracked.seen:
            code = reference()
            if code is not None and id(code) not in before:
                eval_frame.remove_from_cache(code)


@contextmanager
def same_dynamic_sizes() -> Iterator[None]:
    """Leave as it was which sizes varied so far, by function: Dynamo makes them dynamic at the next compilation."""
    before, initial = pgo._CODE_STATE, pgo._INIT_CODE_STATE
    pgo._CODE_STATE, pgo._INIT_CODE_STATE = defaultdict(pgo.CodeState), None
    try:
        with torch._dynamo.config.patch(automatic_dynamic_local_pgo=False, automatic_dynamic_remote_pgo=False):
            yield
    finally:
        pgo._CODE_STATE, pgo._INIT_CODE_STATE = before, initial


@contextmanager
def same_config() -> Iterator[None]:
    """Leave torch._dynamo.config as it was; meanwhile errors of compilation are raised."""
    before = config_copy()
    try:
        # Errors that are suppressed are functions that silently run uncompiled.
        with torch._dynamo.config.patch(suppress_errors=False):
            yield
    finally:
        for name, value in config_copy().items():
            # Setting what is deprecated warns, so only what was changed is set.
            if name in before and value != before[name]:
                setattr(torch._dynamo.config, name, before[name])


@contextmanager
def same_records() -> Iterator[None]:
    """Leave as they were the counters and records of Dynamo, and which warnings it has shown and will not repeat."""
    kept = [records for name in _RECORDS if (records := getattr(utils, name, None)) is not None]
    before = [_copy(records) for records in kept]
    try:
        yield
    finally:
        for records, contents in zip(kept, before, strict=True):
            # In place: other modules hold the same object.
            records.clear()
            (records.extend if isinstance(contents, (list, deque)) else records.update)(contents)


def _copy(records: Any) -> Any:
    """A copy, for a mapping with copies of its values."""
    return {key: copy.copy(value) for key, value in records.items()} if isinstance(records, dict) else records.copy()
