"""Compiling inside a process that is not ours (a user's tests): torch and the model are left as they were found."""

from __future__ import annotations

import contextlib
import copy
import logging
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.tracing import private_torch


def compiled(model: Callable[..., Any], backend: Callable[..., Any], fullgraph: bool = False) -> Callable[..., Any]:
    """``model`` compiled by ``backend``, which must be a new object: code that others compiled is not used then."""
    isolated: dict[str, Any] = {"isolate_recompiles": True} if private_torch.ISOLATES else {}
    return torch.compile(model, backend=backend, fullgraph=fullgraph, **isolated)


def uncompiled(model: Callable[..., Any]) -> Callable[..., Any]:
    """What ``torch.compile`` was called on, where ``model`` is compiled already."""
    inner = getattr(model, "_orig_mod", None) or getattr(model, "_torchdynamo_orig_callable", None)
    return model if inner is None else inner


@contextlib.contextmanager
def untouched(model: Callable[..., Any]) -> Iterator[None]:
    """Restore what compiling and calling ``model`` changes, and let Dynamo trace it as if for the first time."""
    with (
        private_torch.same_config(),
        _random(),
        private_torch.same_records(),
        _grad_mode(),
        _module(model),
        trace_handlers(),
        private_torch.same_code_caches(),
        private_torch.same_dynamic_sizes(),
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
        # Handlers that were added meanwhile stay.
        logger.handlers[:] = [*before, *(handler for handler in logger.handlers if handler not in before)]
