"""An exception that came out of the user's code: outcome, and one line with the place."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import torch

from graphdoctor.breaks.explanations import error_in_words
from graphdoctor.breaks.locations import Places
from graphdoctor.breaks.messages import one_line, parse
from graphdoctor.dynamic.user_code.raised_values import raised_values
from graphdoctor.model.runs import DynamicRun, Frame, Outcome

T = TypeVar("T")

#: Characters of a message that are looked at.
_MOST = 100_000

#: The module of Dynamo's exceptions.
_OF_DYNAMO = "torch._dynamo.exc"

#: Exceptions before one that are looked at.
_MOST_CAUSES = 20

#: What torch's allocator for a CPU says (c10/core/impl/alloc_cpu.cpp); that for GPUs has an exception of its own.
_ALLOCATOR = "DefaultCPUAllocator: can't allocate memory"
_ASKED = re.compile(r"allocate (\d+(?:\.\d+)?) (bytes|[KMGTPE]iB)")


@dataclass(frozen=True)
class Fault:
    """How a run ended, in one line; ``memory``: there was not enough of it."""

    outcome: Outcome
    detail: str
    memory: bool = False
    raised_at: Frame | None = None
    #: Tensors and layers on that line.
    raised_with: tuple[str, ...] = ()

    def ended(self, run: DynamicRun, detail: str) -> DynamicRun:
        """``run``, which ended so; ``detail`` says it in one line."""
        return replace(run, outcome=self.outcome, detail=detail, raised_at=self.raised_at, raised_with=self.raised_with)


def fault_of(error: BaseException, places: Places, when: str, more: str = "") -> Fault:
    """``when`` completes the line: "at import", "in eager", "under torch.compile"; its text goes on with ``more``."""
    raw = _harmless(lambda: _place(error, places))
    where = raw and Frame(places.show(raw.path), raw.line, raw.function)
    suffix = f" ({_shown(where)})" if where else ""
    if isinstance(error, SystemExit):
        code = _harmless(lambda: repr(error.code)) or "..."
        return Fault("exited", f"sys.exit({one_line(code)}) {when}{suffix}", raised_at=where)
    if is_out_of_memory(error):
        wanted = _wanted(_harmless(lambda: str(error)) or "")
        more = f": {wanted} more were asked for" if wanted else ""
        # Its frames hold what was made until then.
        traceback.clear_frames(error.__traceback__)
        return Fault("raised", f"out of memory {when}{more}{suffix}", memory=True)
    values = (raw and _harmless(lambda: raised_values(error, raw.path, raw.line))) or ()
    detail = f"{one_line(type(error).__name__)} {when}: {_text(error)}{more}{_hidden(error)}{suffix}"
    return Fault("raised", detail, raised_at=where, raised_with=values)


def _shown(frame: Frame) -> str:
    return f"{frame.path}:{frame.line}" + (f" in {frame.function}" if frame.function else "")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` is what Python or an allocator of torch raises where there is not enough memory."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return type(error) is RuntimeError and _ALLOCATOR in (_harmless(lambda: str(error)) or "")


def _wanted(text: str) -> str:
    """How much was asked for; empty where the text does not say it."""
    found = _ASKED.search(text)
    if found is None:
        return ""
    if found[2] != "bytes":
        return f"{found[1]} {found[2]}"
    mebibytes = int(found[1]) / 2**20
    return f"{mebibytes / 1024:,.1f} GiB" if mebibytes >= 1024 else f"{mebibytes:,.1f} MiB"


def _harmless(read: Callable[[], T | None]) -> T | None:
    """The result of ``read``; None where the user's exception itself raises (in ``__str__``, for example)."""
    try:
        return read()
    except BaseException:
        return None


def _text(error: BaseException) -> str:
    text = _harmless(lambda: str(error))
    message = parse((text or "")[:_MOST])
    if message.gb_type:
        return one_line(f"{message.gb_type}: {message.explanation}")
    return error_in_words(message.explanation) or "no message"


def _hidden(error: BaseException) -> str:
    """The exception in whose handler the code raised ``error``, where ``error`` does not have its text.

    Dynamo's errors have it, and a module that is missing mostly has others that may stand in for it.
    """
    if type(error).__module__ == _OF_DYNAMO or isinstance(error, ImportError):
        return ""
    first = error
    # Causes that are set by hand may be a circle.
    for _ in range(_MOST_CAUSES):
        first = first.__cause__ or (None if first.__suppress_context__ else first.__context__) or first
    text = _harmless(lambda: one_line(str(first))) or ""
    told = first is error or isinstance(first, ImportError) or (text and text in (_harmless(lambda: str(error)) or ""))
    return "" if told else f" (raised while {one_line(type(first).__name__)} was handled{text and f': {text}'})"


def _place(error: BaseException, places: Places) -> Frame | None:
    """The innermost frame in the user's own code, else the innermost that is neither torch's nor this tool's.

    Its path is that of the code, not yet as results name it.
    """
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return Frame(error.filename, error.lineno, "")
    # Errors of Dynamo carry the stack of the code that was being traced; it is deeper than the one that was running.
    traced = getattr(error, "real_stack", None) or []
    frames = [f for f in (*traceback.extract_tb(error.__traceback__), *traced) if not places.is_tool(f.filename)]
    for kind in ("own", "third-party"):
        for frame in reversed(frames):
            if places.kind(frame.filename) == kind:
                return Frame(frame.filename, frame.lineno or 1, frame.name)
    return None
