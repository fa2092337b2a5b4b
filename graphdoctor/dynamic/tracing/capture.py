"""What TorchDynamo records while it compiles: the one module that reads its private trace.

The source is the logger ``torch.__trace`` (torch/_logging/_internal.py): it gives one record for every graph break,
every compilation and every recompile, and starts as soon as it has a handler. A handler is called synchronously, so the
exception and its user stack (with columns since torch 2.13) are read from the running frames, else from the text.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import linecache
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, Literal

import torch

from graphdoctor.breaks import registry
from graphdoctor.breaks.grouping import RawEvent, RawFrame
from graphdoctor.breaks.messages import parse
from graphdoctor.breaks.recompiles import guards
from graphdoctor.dynamic.tracing.private_torch import DYNAMO_FOLDER, exact_lines, jumps_back, stack_being_traced

_TRACE = "torch.__trace"
#: Some failures of whole frames are traced only while this logger is on (torch/_dynamo/convert_frame.py).
_FRAME_BREAKS = "torch._dynamo.convert_frame.__graph_breaks"
_SKIPPED = ("Failed to handle graph break gracefully", "which results in a skip", "Skipping the function")
#: Torch 2.6 has no "Graph Break" there.
_REASON = re.compile(r"^(?:Graph Break )?Reason: (.*?)\nUser code traceback:", re.MULTILINE | re.DOTALL)
_STACK_LINE = re.compile(r'^  File "(.+)", line (\d+), in (.+)$', re.MULTILINE)
#: What logs a graph break.
_LOGS = ("log_graph_break", "_log_graph_break")
#: What logs a break until torch 2.10, and gives up the function where its code jumps back from behind the break
#: (torch/_dynamo/symbolic_convert.py, ``break_graph_if_unsupported`` and ``generic_jump``).
_GIVES_UP_LOOPS = ("wrapper", "jump_graph_break")
_TORCH = str(Path(torch.__file__).parent)
_INTERNALS = str(DYNAMO_FOLDER)


@dataclass(frozen=True)
class Start:
    """Dynamo begins to compile a frame: ``frame`` counts code objects, ``attempt`` the compilations of one."""

    frame: int
    attempt: int
    path: str
    line: int


@dataclass(frozen=True)
class Failed:
    """Guards of a compiled frame failed; ``reasons`` are Dynamo's, the newest cache entry first."""

    frame: int
    attempt: int
    reasons: tuple[str, ...]


@dataclass
class Recording:
    """What was recorded between the start and the end of ``record``, in order."""

    events: list[RawEvent] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    recompiles: list[Failed] = field(default_factory=list)
    #: The compilations (``Start.frame`` and ``attempt``) that gave a graph.
    graphs: set[tuple[int, int]] = field(default_factory=set)
    #: Breaks, by their number in ``events``, and graphs (None), each with the compilation it belongs to.
    order: list[tuple[tuple[int, int], int | None]] = field(default_factory=list)


@contextlib.contextmanager
def record() -> Iterator[Recording]:
    """Record Dynamo's trace. Only the handlers named here are touched, and TORCH_LOGS keeps working."""
    recording = Recording()
    handler = _Handler(recording)
    trace, frame_breaks = logging.getLogger(_TRACE), logging.getLogger(_FRAME_BREAKS)
    muted = frame_breaks.getEffectiveLevel() > logging.DEBUG
    saved = (frame_breaks.level, frame_breaks.propagate)
    if muted:
        frame_breaks.setLevel(logging.DEBUG)
        frame_breaks.propagate = False
    trace.addHandler(handler)
    try:
        with exact_lines():
            yield recording
    finally:
        trace.removeHandler(handler)
        if muted:
            frame_breaks.setLevel(saved[0])
            frame_breaks.propagate = saved[1]


class _Handler(logging.Handler):
    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def emit(self, record: logging.LogRecord) -> None:
        metadata: dict[str, Any] = getattr(record, "metadata", {})
        payload: str = getattr(record, "payload", None) or ""
        ids = metadata.get("frame_id", -1), metadata.get("frame_compile_id", -1)
        artifact = metadata.get("artifact", {}).get("name")
        if artifact == "dynamo_graph_break_reason":
            event = _event(payload, sys._getframe(1))
            if event is not None:
                self._recording.order.append((ids, len(self._recording.events)))
                self._recording.events.append(event)
        elif artifact == "recompile_reasons":
            self._recording.recompiles.append(Failed(ids[0], ids[1], guards.reasons(payload)))
        elif "dynamo_output_graph" in metadata:
            self._recording.graphs.add(ids)
            self._recording.order.append((ids, None))
        elif "dynamo_start" in metadata:
            code = _compiled_code(sys._getframe(1))
            place = (code.co_filename, code.co_firstlineno) if code else ("", 0)
            self._recording.starts.append(Start(ids[0], ids[1], place[0], place[1]))


def _event(payload: str, running: FrameType) -> RawEvent | None:
    if payload.startswith("WON'T CONVERT"):
        # A backend error that may fall back: it comes again as a break of its own (GB0219).
        return None
    kind: Literal["resume", "skip"] = "skip" if any(text in payload for text in _SKIPPED) else "resume"
    logs = _logging_frame(running)
    if logs is not None and logs.f_code.co_name in _LOGS and "exc" not in logs.f_code.co_varnames:
        kind = "skip" if _gives_up_loop(logs.f_back) else kind
    error = _live_exception(logs) if logs is not None else None
    if error is not None and getattr(error, "real_stack", None):
        return _from_exception(error, kind, logs)
    found = _REASON.search(payload)
    reason = found[1].rstrip() if found is not None else payload
    traced = _traced(stack_being_traced(), logs) if logs is not None else ()
    if traced:
        return RawEvent(reason, kind, tuple(_running_frames(logs)), traced, _registered(reason))
    frames = tuple(RawFrame(path, int(line), None, name) for path, line, name in _STACK_LINE.findall(payload))
    return RawEvent(reason, kind, (), frames, _registered(reason))


def raised(error: BaseException) -> RawEvent | None:
    """The event for an exception that ``torch.compile`` raised instead of falling back; None without a user stack.

    TorchRuntimeError, UserError, BackendCompilerFailed and the like carry ``real_stack`` (torch/_dynamo/exc.py).
    """
    if getattr(error, "real_stack", None):
        return _from_exception(error, "raise", None)
    frames = tuple(_traceback_frames(error.__traceback__))
    return RawEvent(_text(error), "raise", (), frames, error=type(error).__name__) if frames else None


def _from_exception(
    error: BaseException, kind: Literal["resume", "skip", "raise"], running: FrameType | None
) -> RawEvent:
    text = _text(error)
    return RawEvent(
        message=text,
        kind=kind,
        above=tuple(_running_frames(running)),
        traced=_traced(error.real_stack, running),  # type: ignore[attr-defined]
        gb_id=_registered(text),
        error=type(error).__name__,
    )


def _traced(summary: Iterable[Any], running: FrameType | None) -> tuple[RawFrame, ...]:
    """Dynamo's FrameSummary objects, with ``colno`` since torch 2.13."""
    traced = []
    for frame in summary:
        line = frame.lineno or 0
        column = _column(frame.filename, line, getattr(frame, "colno", None))
        traced.append(RawFrame(frame.filename, line, column, frame.name))
    code = _compiled_code(running)
    if code is not None and traced and traced[0].path == code.co_filename:
        # The summary names a resume frame by the function it resumes; the code object shows that it is one.
        traced[0] = replace(traced[0], name=code.co_name)
    return tuple(traced)


def _text(error: BaseException) -> str:
    return str(getattr(error, "msg", None) or error)


def _logging_frame(running: FrameType) -> FrameType | None:
    """The frame that logs a graph break: of ``log_graph_break``, or of the frame converter."""
    frame: FrameType | None = running
    while frame is not None:
        name = frame.f_code.co_name
        converts = name == "__call__" and isinstance(frame.f_locals.get("e"), BaseException)
        if (converts or name in _LOGS) and frame.f_code.co_filename.startswith(_INTERNALS):
            return frame
        frame = frame.f_back
    return None


def _live_exception(logs: FrameType) -> BaseException | None:
    """The exception that the frame ``logs`` is about: until torch 2.10 it is not handed over, but being handled."""
    error = logs.f_locals.get("e" if logs.f_code.co_name == "__call__" else "exc", sys.exc_info()[1])
    return error if isinstance(error, BaseException) else None


def _gives_up_loop(caller: FrameType | None) -> bool:
    """Whether Dynamo gives up the whole function for the break that ``caller`` logs: torch 2.9 does not say so."""
    return caller is not None and caller.f_code.co_name in _GIVES_UP_LOOPS and jumps_back(caller.f_locals.get("self"))


def _compiled_code(running: FrameType | None) -> CodeType | None:
    """The code object that is being compiled: a local of ``_compile`` (torch/_dynamo/convert_frame.py)."""
    while running is not None:
        if running.f_code.co_filename.startswith(_INTERNALS):
            code = running.f_locals.get("code")
            if isinstance(code, CodeType):
                return code
        running = running.f_back
    return None


def _running_frames(running: FrameType | None) -> list[RawFrame]:
    """The Python frames that called the traced ones, outermost first, torch's own left out."""
    stack: list[RawFrame] = []
    while running is not None:
        stack.append(_code_frame(running.f_code, running.f_lineno, running.f_lasti))
        running = running.f_back
    return [frame for frame in reversed(stack) if not frame.path.startswith(_TORCH)]


def _traceback_frames(tb: TracebackType | None) -> Iterator[RawFrame]:
    while tb is not None:
        frame = _code_frame(tb.tb_frame.f_code, tb.tb_lineno, tb.tb_lasti)
        if not frame.path.startswith(_TORCH):
            yield frame
        tb = tb.tb_next


def _code_frame(code: CodeType, line: int, instruction: int) -> RawFrame:
    byte = None
    if sys.version_info >= (3, 11):
        positions = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
        byte = positions[2] if positions else None
    return RawFrame(code.co_filename, line, _column(code.co_filename, line, byte), code.co_name)


def _column(path: str, line: int, byte: int | None) -> int | None:
    """The 1-based character column of a 0-based UTF-8 byte offset."""
    if byte is None:
        return None
    return len(linecache.getline(path, line).encode()[:byte].decode(errors="replace")) + 1


def _registered(text: str) -> str | None:
    """The registry's id for the type that ``text`` names, for messages that link none."""
    gb_type = parse(text).gb_type
    return _registry().get(gb_type) if gb_type else None


@lru_cache(maxsize=1)
def _registry() -> dict[str, str]:
    """Graph break type -> id, from the file that torch ships since 2.8; for torch 2.7 from graphdoctor's own table."""
    try:
        entries = json.loads((Path(_INTERNALS) / "graph_break_registry.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {entry.gb_type: gb_id for gb_id, entry in registry.bundled().items()}
    return {version["Gb_type"]: gb_id for gb_id, versions in entries.items() for version in versions}
