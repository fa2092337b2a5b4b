"""Compiles the modules that a program calls from outside of any module, where the program compiles nothing itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from graphdoctor.recorder.settings import AUTO
from graphdoctor.recorder.trace_file import TraceFile

#: Shows what Dynamo can capture, and adds nothing of another compiler.
BACKEND = "eager"


class Outermost:
    """``wanted`` is AUTO, for all with parameters, or the name of a class.

    What the program compiles itself ends AUTO, and undoes it.
    """

    def __init__(
        self,
        wanted: str,
        compile_function: Callable[..., Any],
        watched: Callable[[Any, Any], Any],
        trace_file: TraceFile,
    ) -> None:
        self._wanted = wanted
        self._compile = compile_function
        self._watched = watched
        self._trace_file = trace_file
        self._compiled: list[nn.Module] = []
        self._depth = threading.local()
        self._call: Callable[..., Any] = nn.Module.__call__
        self._met: set[str] = set()

    def install(self) -> None:
        """See every call of a module from now on."""
        original, depth = self._call, self._depth

        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            # While Dynamo traces, and below another module, calls are what they are without this.
            if torch.compiler.is_compiling() or getattr(depth, "inside", False):
                return original(module, *args, **kwargs)
            if self._wanted == AUTO and next(module.parameters(), None) is None:
                # A loss, or a transform of the data, is no model.
                self._tell("graphdoctor_outermost", type(module).__name__)
                return original(module, *args, **kwargs)
            depth.inside = True
            nn.Module.__call__ = original  # type: ignore[method-assign]
            try:
                self._consider(module)
                return original(module, *args, **kwargs)
            finally:
                depth.inside = False
                if self._wanted:
                    nn.Module.__call__ = call  # type: ignore[method-assign]

        nn.Module.__call__ = call  # type: ignore[method-assign]

    def program_compiles(self) -> None:
        """The program calls torch.compile: with AUTO, what it leaves uncompiled stays so."""
        if self._wanted != AUTO:
            return
        self._wanted = ""
        nn.Module.__call__ = self._call  # type: ignore[method-assign]
        for module in self._compiled:
            module._compiled_call_impl = None
        if self._compiled:
            self._trace_file.note("graphdoctor_compile_given_up", {"modules": len(self._compiled)})

    def _consider(self, module: nn.Module) -> None:
        name = type(module).__name__
        if isinstance(module, torch.jit.ScriptModule) or module._compiled_call_impl is not None:
            return
        if self._wanted in (AUTO, name, f"{type(module).__module__}.{type(module).__qualname__}"):
            compiled = self._compile(module._call_impl, backend=BACKEND)
            module._compiled_call_impl = self._watched(compiled, module)
            self._compiled.append(module)
            self._tell("graphdoctor_compiled", name)
        else:
            self._tell("graphdoctor_outermost", name)

    def _tell(self, what: str, name: str) -> None:
        if (what + name) not in self._met:
            self._met.add(what + name)
            self._trace_file.note(what, {"class": name, "wanted": self._wanted})
