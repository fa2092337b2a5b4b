"""Compiling inside a process that is not ours (a user's tests): torch and the model are left as they were found."""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
import random
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo
from torch import nn
from torch._dynamo import convert_frame, pgo, utils

#: Since torch 2.13, ``torch.compile(isolate_recompiles=True)`` keeps its compiled code apart from all other.
_ISOLATES = "isolate_recompiles" in inspect.signature(torch.compile).parameters
#: Collections of torch._dynamo.utils; some torch versions do not have all of them.
_RECORDS = ("counters", "graph_break_reasons", "guard_failures", "warn_once_cache", "_compilation_metrics")


def compiled(model: Callable[..., Any], backend: Callable[..., Any], fullgraph: bool = False) -> Callable[..., Any]:
    """``model`` compiled by ``backend``, which must be a new object: code that others compiled is not used then."""
    isolated: dict[str, Any] = {"isolate_recompiles": True} if _ISOLATES else {}
    return torch.compile(model, backend=backend, fullgraph=fullgraph, **isolated)


def uncompiled(model: Callable[..., Any]) -> Callable[..., Any]:
    """What ``torch.compile`` was called on, where ``model`` is compiled already."""
    inner = getattr(model, "_orig_mod", None) or getattr(model, "_torchdynamo_orig_callable", None)
    return model if inner is None else inner


@contextlib.contextmanager
def untouched(model: Callable[..., Any]) -> Iterator[None]:
    """Restore what compiling and calling ``model`` changes, and let Dynamo trace it as if for the first time."""
    with (
        _config(),
        _random(),
        _records(),
        _grad_mode(),
        _module(model),
        trace_handlers(),
        _code_caches(),
        _profile(),
        torch.compiler.set_stance("default"),
    ):
        yield


def copied(value: Any) -> Any:
    """Arguments of a call, which may change them; those that cannot be copied are given as they are."""
    try:
        return copy.deepcopy(value)
    except (TypeError, RuntimeError):  # tensors inside a graph of autograd, for one
        return value


@contextlib.contextmanager
def _code_caches() -> Iterator[None]:
    """Dynamo's caches hang on code objects. Before torch 2.13 all of them are cleared, after it only ours."""
    if not _ISOLATES:
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
        if not torch._dynamo.eval_frame._get_total_cache_entry_count(code):
            torch._dynamo.eval_frame.remove_from_cache(code)
    before = {id(code) for code in known}
    try:
        yield
    finally:
        for reference in tracked.seen:
            code = reference()
            if code is not None and id(code) not in before:
                torch._dynamo.eval_frame.remove_from_cache(code)


@contextlib.contextmanager
def _profile() -> Iterator[None]:
    """Which sizes varied so far, by function: Dynamo makes them dynamic from the next compilation on."""
    before, initial = pgo._CODE_STATE, pgo._INIT_CODE_STATE
    pgo._CODE_STATE, pgo._INIT_CODE_STATE = defaultdict(pgo.CodeState), None
    try:
        with torch._dynamo.config.patch(automatic_dynamic_local_pgo=False, automatic_dynamic_remote_pgo=False):
            yield
    finally:
        pgo._CODE_STATE, pgo._INIT_CODE_STATE = before, initial


@contextlib.contextmanager
def _config() -> Iterator[None]:
    before = torch._dynamo.config.get_config_copy()
    try:
        # Errors that are suppressed are functions that silently run uncompiled.
        with torch._dynamo.config.patch(suppress_errors=False):
            yield
    finally:
        for name, value in torch._dynamo.config.get_config_copy().items():
            # Setting what is deprecated warns, so only what was changed is set.
            if name in before and value != before[name]:
                setattr(torch._dynamo.config, name, before[name])


@contextlib.contextmanager
def _random() -> Iterator[None]:
    numpy = sys.modules.get("numpy")
    python = random.getstate()
    arrays = numpy.random.get_state() if numpy else None
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices):
        try:
            yield
        finally:
            random.setstate(python)
            if numpy and arrays:
                numpy.random.set_state(arrays)


@contextlib.contextmanager
def _records() -> Iterator[None]:
    """What Dynamo has counted and recorded so far, and what it has said once and will not say again."""
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


@contextlib.contextmanager
def _grad_mode() -> Iterator[None]:
    before = torch.is_grad_enabled()
    try:
        yield
    finally:
        torch.set_grad_enabled(before)


@contextlib.contextmanager
def _module(model: Callable[..., Any]) -> Iterator[None]:
    """The attributes of all modules, train mode and buffers among them, gradients, and the values of buffers."""
    model = getattr(model, "__self__", model)
    if not isinstance(model, nn.Module):
        yield
        return
    tables = ("_parameters", "_buffers", "_modules")
    # A scripted module is not traced, and its tables are those of the script.
    plain = [module for module in model.modules() if not isinstance(module, torch.jit.ScriptModule)]
    saved = [(module, dict(vars(module)), {table: dict(vars(module)[table]) for table in tables}) for module in plain]
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    for module in plain:
        # What ``module.compile()`` set would be called in place of what we compile.
        vars(module).pop("_compiled_call_impl", None)
    try:
        yield
    finally:
        for module, attributes, contents in saved:
            vars(module).clear()
            vars(module).update(attributes)
            for table, content in contents.items():
                vars(module)[table].clear()
                vars(module)[table].update(content)
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for parameter, gradient in gradients:
            parameter.grad = gradient


@contextlib.contextmanager
def trace_handlers() -> Iterator[None]:
    """Without pytest's: it listens to every logger, torch's trace too, and would show all of it under a failing test.

    torch's own handler goes away at the first record where no TORCH_TRACE is set, so the list is restored as a whole.
    """
    logger = logging.getLogger("torch.__trace")
    before = list(logger.handlers)
    for handler in before:
        if type(handler).__module__.partition(".")[0] == "_pytest":
            logger.removeHandler(handler)
    try:
        yield
    finally:
        # Those that somebody added meanwhile stay.
        logger.handlers[:] = [*before, *(handler for handler in logger.handlers if handler not in before)]
