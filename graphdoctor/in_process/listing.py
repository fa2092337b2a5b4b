"""The breaks and recompiles of a model that is called in this process, and the text that a failing test shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch._dynamo
from torch import fx

from graphdoctor.breaks.grouping import RawEvent, distinct, is_deliberate, user_stack
from graphdoctor.breaks.job_locations import JobPlaces
from graphdoctor.breaks.recompiles import guards
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.tracing.capture import Recording, raised, record
from graphdoctor.dynamic.tracing.private_torch import DYNAMO_FOLDER, TorchDynamoException
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.in_process import session
from graphdoctor.model.runs import Break
from graphdoctor.source.text import split_lines

#: What fullgraph=True captures beside what the default compile does, since torch 2.10.
_CAPTURES = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}

#: How the RuntimeError begins that fullgraph=True raises where it compiled nothing (torch/_dynamo/eval_frame.py).
_NO_FRAMES = "torch.compile with fullgraph=True found no compiled frames"

#: Positional and keyword arguments of one call.
Call = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Compiled:
    """The result of calls of a compiled model. ``error`` is what ``torch.compile`` raised, if anything.

    ``graphs`` and their ``operators`` are those of the first call.

    ``uncompiled`` are the user's functions that called graphs and were not compiled themselves, although no break is
    recorded: functions that are disabled without what they call, and functions that Dynamo passes over. ``events`` are
    what ``breaks`` are made of.
    """

    graphs: int
    breaks: tuple[Break, ...]
    recording: Recording
    events: tuple[RawEvent, ...] = ()
    operators: int = 0
    error: BaseException | None = None
    uncompiled: tuple[str, ...] = ()


def compile_and_call(
    model: Callable[..., Any], calls: Sequence[Call], fullgraph: bool = False, as_fullgraph: bool = False
) -> Compiled:
    """Compile and call ``model``; torch and the model are left as they were.

    ``as_fullgraph`` lists what ``fullgraph=True`` would meet, where that itself names the first break only. Raises what
    the model raises; what Dynamo raises becomes a break.
    """
    __tracebackhide__ = True
    if not callable(model):
        raise TypeError(f"the model is a {type(model).__qualname__}: give a module or a function, then its arguments")
    model = session.uncompiled(model)
    backend = _Watching(_places())
    error: BaseException | None = None
    first: tuple[int, int] | None = None
    with session.untouched(model), torch._dynamo.config.patch(_CAPTURES if as_fullgraph else {}):
        function = session.compiled(model, backend, fullgraph)
        with record() as recording:
            for number, (args, kwargs) in enumerate(calls, 1):
                try:
                    function(*session.copied(args), **session.copied(kwargs))
                except TorchDynamoException as failure:
                    error, calls = failure, calls[:number]
                    break
                except RuntimeError as failure:
                    # Raised by fullgraph=True where Dynamo compiled nothing; a model's own errors come through.
                    if not str(failure).startswith(_NO_FRAMES):
                        raise
                    error = failure
                    break
                first = first or (backend.graphs, backend.operators)
    if isinstance(error, TorchDynamoException):
        _raise_what_eager_raises(model, calls)
    graphs, operators = first or (backend.graphs, backend.operators)
    events = list(recording.events)
    if error is not None and (event := raised(error)) is not None:
        events.append(event)
    own = undeliberate(events)
    uncompiled = () if events else tuple(backend.callers)
    breaks = distinct(own, _places(), source_of)
    return Compiled(graphs, breaks, recording, own, operators, error, uncompiled)


def _raise_what_eager_raises(model: Callable[..., Any], calls: Sequence[Call]) -> None:
    """Call ``model`` uncompiled: arguments that it does not take, such as a wrong shape, stop Dynamo as breaks do."""
    __tracebackhide__ = True
    with session.untouched(model), torch.compiler.set_stance("force_eager"):
        for args, kwargs in calls:
            model(*session.copied(args), **session.copied(kwargs))


def undeliberate(events: Sequence[RawEvent]) -> tuple[RawEvent, ...]:
    """``events`` without the breaks that torch makes on purpose, and without the frames that called this tool."""
    places = _places()
    below = [_below_us(event, places) for event in events]
    return tuple(event for event in below if not is_deliberate(event, places))


class _Watching(CountingBackend):
    """Also notes the user's functions that graphs are called by, beside those that were compiled."""

    def __init__(self, places: JobPlaces) -> None:
        super().__init__()
        self._places = places
        self.callers: dict[str, None] = {}

    def __call__(self, graph: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        run = super().__call__(graph, example_inputs)

        def noted(*args: Any) -> Any:
            self._note(sys._getframe(1))
            return run(*args)

        return noted

    def _note(self, frame: FrameType | None) -> None:
        internals = str(DYNAMO_FOLDER)
        # Functions of Dynamo's lead from the compiled frame to the graph; what is above that frame was not compiled.
        while frame is not None and frame.f_code.co_filename.startswith(internals):
            frame = frame.f_back
        frame = frame.f_back if frame is not None and not self._is_ours(frame) else frame
        found: dict[str, None] = {}
        while frame is not None and not self._is_ours(frame):
            if self._places.kind(frame.f_code.co_filename) in ("own", "third-party"):
                code = frame.f_code
                name = getattr(code, "co_qualname", code.co_name)
                found[f"{self._places.show(code.co_filename)}:{code.co_firstlineno} in {name}"] = None
            frame = frame.f_back
        # In a thread that the model started no frame is ours: where the call began is unknown.
        if frame is not None:
            self.callers |= found

    def _is_ours(self, frame: FrameType) -> bool:
        return self._places.is_tool(frame.f_code.co_filename)


def places_below(root: str) -> JobPlaces:
    """Whose code the files of this process are; paths are shown from ``root``."""
    return JobPlaces(root=root, own=(), torch=str(Path(torch.__file__).parent.as_posix()))


def _places() -> JobPlaces:
    return places_below(os.getcwd())


def _below_us(event: RawEvent, places: JobPlaces) -> RawEvent:
    """``event`` without the frames that called the model: the test's, and those of the test runner.

    Where no frame is left, those of the test stay: a break without a place would be lost.
    """
    ours = [number for number, frame in enumerate(event.above) if places.is_tool(frame.path)]
    below = replace(event, above=event.above[ours[-1] + 1 :] if ours else event.above)
    return below if user_stack(below, places) else event


def name_of(model: Callable[..., Any]) -> str:
    """What to call ``model`` in messages."""
    return getattr(model, "__qualname__", None) or type(model).__qualname__


def not_ignored(breaks: Sequence[Break], patterns: Sequence[str]) -> tuple[Break, ...]:
    """The breaks that no pattern names: by module (``transformers.*``), path, or graph-break id."""
    return tuple(b for b in breaks if not any(fnmatchcase(name, p) for p in patterns for name in _names(b)))


def _names(entry: Break) -> Iterator[str]:
    """What a pattern may name ``entry`` by: its id, and the files that it is in, innermost and the user's own."""
    if entry.gb_id:
        yield entry.gb_id
    places = _places()
    inner = next(
        (f.path for f in reversed(entry.stack) if places.kind(_absolute(f.path)) in ("own", "third-party")), entry.path
    )
    for path in dict.fromkeys((inner, entry.path)):
        yield path
        yield _module(_absolute(path))


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def _module(path: str) -> str:
    """The name that ``path`` was imported under, or the name of the file."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == path:
            return name
    return Path(path).stem


def listed(breaks: Sequence[Break]) -> str:
    """The breaks for a failing test: place, line, plain words and fix of each."""
    return "\n".join("\n".join(_item(entry)) for entry in breaks)


def _item(entry: Break) -> Iterator[str]:
    events = f", {entry.events} times" if entry.events > 1 else ""
    place = f"{entry.path}:{entry.line}" + (f":{entry.column}" if entry.column else "")
    yield f"\n{place} in {entry.function} ({entry.gb_id or entry.gb_type}{events})"
    lines = split_lines(source_of(_absolute(entry.path)))
    if entry.line <= len(lines):
        yield f"    > {lines[entry.line - 1].strip()}"
    dropped = "; the whole function runs uncompiled" if entry.whole_frame else ""
    yield f"    {entry.reason}{dropped}"
    for frame in reversed(entry.stack[:-1] if entry.owner != "own" else ()):
        yield f"    called from {frame.path}:{frame.line} in {frame.function}"
    for hint in entry.hints[:1]:
        yield f"    fix: {hint}"
    if entry.gb_id:
        yield f"    more: graphdoctor explain {entry.gb_id}"


@dataclass(frozen=True)
class Recompiles:
    """Compilations beyond the first, of the function that has most of them; why; and whether Dynamo gave up."""

    count: int
    causes: tuple[str, ...]
    at_limit: bool


def recompiles(recording: Recording) -> Recompiles:
    """The recompiles in ``recording``, each cause once."""
    per_frame: dict[int, int] = {}
    for start in recording.starts:
        per_frame[start.frame] = per_frame.get(start.frame, 0) + 1
    started = {(start.frame, start.attempt) for start in recording.starts}
    code = {start.frame: (start.path, start.line) for start in recording.starts}
    causes: dict[tuple[str, str | None, int | None], str] = {}
    for failed in recording.recompiles:
        guard = guards.read(failed.reasons[0])
        path, line = code.get(failed.frame, ("", 0))
        where = f"{_places().show(path)}:{line}: " if path else ""
        causes.setdefault((guard.kind, guard.name, guard.dimension), f"{where}{guard.words}")
    at_limit = any((failed.frame, failed.attempt) not in started for failed in recording.recompiles)
    return Recompiles(max(per_frame.values(), default=1) - 1, tuple(causes.values()), at_limit)
