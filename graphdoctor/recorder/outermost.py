"""Compiles the modules that a program calls from outside of any module, where the program compiles nothing itself."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch import nn

from graphdoctor.recorder.module_methods import Method, calling_method, is_of_torch
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
        self._undo: list[Callable[[], None]] = []
        self._depth = threading.local()
        self._call: Callable[..., Any] = nn.Module.__call__
        self._met: set[str] = set()
        #: Beside the modules: what is stored in a module changes what is compiled around it.
        self._compiled: dict[nn.Module, Callable[..., Any]] = {}
        self._methods: set[tuple[type[nn.Module], str]] = set()

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
            return self._inside(lambda: self._considered(module)(*args, **kwargs))

        self._seen_call = call
        nn.Module.__call__ = call  # type: ignore[method-assign]

    def program_compiles(self) -> None:
        """The program calls torch.compile: with AUTO, what it leaves uncompiled stays so."""
        if self._wanted != AUTO:
            return
        self._trace_file.note("graphdoctor_program_compiles", {})
        self._wanted = ""
        nn.Module.__call__ = self._call  # type: ignore[method-assign]
        for undo in self._undo:
            undo()
        if self._undo:
            self._trace_file.note("graphdoctor_compile_given_up", {"modules": len(self._undo)})

    def _inside(self, run: Callable[[], Any]) -> Any:
        """What ``run`` gives, in which the calls of modules are not looked at."""
        self._depth.inside = True
        nn.Module.__call__ = self._call  # type: ignore[method-assign]
        try:
            return run()
        finally:
            self._depth.inside = False
            if self._wanted:
                nn.Module.__call__ = self._seen_call  # type: ignore[method-assign]

    def _considered(self, module: nn.Module) -> Callable[..., Any]:
        """``module``, compiled if it is wanted; the method that calls it is, where that is the model's way in."""
        if module in self._compiled:
            return self._compiled[module]
        method = calling_method(module)
        cls = type(module) if method is None else method.cls
        if isinstance(module, torch.jit.ScriptModule) or module._compiled_call_impl is not None:
            pass
        elif method is not None and (method.cls, method.name) in self._methods:
            # The call in which it was met, which is not compiled.
            pass
        elif self._wanted not in (AUTO, cls.__name__, f"{cls.__module__}.{cls.__qualname__}"):
            self._tell("graphdoctor_outermost", cls.__name__)
        elif method is None:
            self._tell("graphdoctor_compiled", cls.__name__)
            return self._compile_module(module)
        else:
            self._tell("graphdoctor_compiled", f"{cls.__name__}.{method.name}")
            self._compile_method(method)
        return functools.partial(self._call, module)

    def _compile_module(self, module: nn.Module) -> Callable[..., Any]:
        compiled = self._compile(_call_of(module) if is_of_torch(module) else module._call_impl, backend=BACKEND)
        self._compiled[module] = self._watched(compiled, module)
        self._undo.append(self._compiled.clear)
        return self._compiled[module]

    def _compile_method(self, method: Method) -> None:
        """From its next call on; in the class, because an attribute of the object would go into copies of it."""
        self._methods.add((method.cls, method.name))
        original = method.function
        compiled = self._watched(self._compile(original, backend=BACKEND), original)

        @functools.wraps(original)
        def entered(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or getattr(self._depth, "inside", False):
                return original(*args, **kwargs)
            return self._inside(lambda: compiled(*args, **kwargs))

        setattr(method.cls, method.name, entered)
        self._undo.append(lambda: setattr(method.cls, method.name, original))

    def _tell(self, what: str, name: str) -> None:
        if (what + name) not in self._met:
            self._met.add(what + name)
            self._trace_file.note(what, {"class": name, "wanted": self._wanted})


def _call_of(module: nn.Module) -> Callable[..., Any]:
    """Calls ``module``, a layer of torch, whose frames Dynamo skips unless a frame of another file calls them."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return module._call_impl(*args, **kwargs)  # type: ignore[no-untyped-call]

    # Dynamo counts recompiles by code object: each module has one of its own.
    return FunctionType(call.__code__.replace(), call.__globals__, type(module).__name__, None, call.__closure__)
