"""What is done at the calls of compiled functions: their number is counted, and the first calls are saved.

Only on request: by default, calls are not wrapped. What has a train and an eval mode has a first call in each.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

from graphdoctor.recorder.compiling_context import watch_context
from graphdoctor.recorder.samples import Samples, in_training
from graphdoctor.recorder.settings import Settings
from graphdoctor.recorder.trace_file import TraceFile


class StepsDone(SystemExit):
    """Ends the program as ``sys.exit()`` does, after the requested number of steps."""

    def __init__(self) -> None:
        super().__init__(0)


class Watch:
    """What happens at each call of one compiled function."""

    def __init__(self, settings: Settings, trace_file: TraceFile, samples: Samples | None, original: Any) -> None:
        self._steps = settings.steps
        self._trace_file = trace_file
        self._samples = samples
        self._original = original
        self._calls = 0
        self._saved: set[bool] = set()

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises StepsDone where there were enough calls. The last step is whole by then, with its backward pass."""
        self._calls += 1
        if self._steps and self._calls > self._steps:
            self._trace_file.note("graphdoctor_steps_done", {"steps": self._steps})
            raise StepsDone
        if self._samples is not None and (mode := in_training(self._original)) not in self._saved:
            self._saved.add(mode)
            self._samples.save(self._original, args, kwargs)


def watch_calls(settings: Settings, trace_file: TraceFile) -> None:
    """Watch what ``torch.compile`` and ``nn.Module.compile`` make from now on."""
    samples = Samples(settings.folder, settings.sample_bytes, trace_file) if settings.sample_bytes else None
    compile_function = torch.compile

    @functools.wraps(compile_function)
    def watched_compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        outermost.program_compiles()
        if model is None:
            # Not through torch's own decorator, which calls torch.compile again and so would watch a function twice.
            return lambda function: watched_compile(function, *args, **kwargs)
        return watched(compile_function(model, *args, **kwargs), model)

    def watched(compiled: Any, original: Any) -> Any:
        if not settings.steps and samples is None:
            return compiled
        watch = Watch(settings, trace_file, samples, original)
        if not isinstance(compiled, torch.nn.Module):
            return _watched_function(compiled, watch)
        # A compiled module stays the same object; its attribute ``forward`` holds the compiled call.
        compiled.forward = _watched_function(compiled.forward, watch)
        watch_context(compiled, watched)
        return compiled

    from graphdoctor.recorder.outermost import Outermost

    outermost = Outermost(settings.compile, compile_function, watched, trace_file)
    torch.compile = watched_compile
    if settings.compile:
        outermost.install()


def _watched_function(compiled: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    if inspect.isclass(compiled) or not callable(compiled):
        return compiled

    @functools.wraps(compiled)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Inside another compiled function this is a constant, and nothing of the watch is traced.
        if not torch.compiler.is_compiling():
            watch.before(args, kwargs)
        return compiled(*args, **kwargs)

    return call
