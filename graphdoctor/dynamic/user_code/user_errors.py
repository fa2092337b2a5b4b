"""An exception that came out of the user's code: outcome, and one line with the place."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass

from graphdoctor.breaks.locations import Places
from graphdoctor.breaks.messages import one_line, parse
from graphdoctor.model.runs import Outcome

#: Characters of a message that are looked at.
_MOST = 100_000


@dataclass(frozen=True)
class Fault:
    """How a run ended, in one line."""

    outcome: Outcome
    detail: str


def fault_of(error: BaseException, places: Places, when: str) -> Fault:
    """``when`` completes the line: "at import", "in eager", "under torch.compile"."""
    where = _harmless(lambda: _place(error, places))
    suffix = f" ({where})" if where else ""
    if isinstance(error, SystemExit):
        code = _harmless(lambda: repr(error.code)) or "..."
        return Fault("exited", f"sys.exit({one_line(code)}) {when}{suffix}")
    return Fault("raised", f"{one_line(type(error).__name__)} {when}: {_text(error)}{suffix}")


def _harmless(ask: Callable[[], str | None]) -> str | None:
    """The result of ``ask``; None where the user's exception itself raises (in ``__str__``, for example)."""
    try:
        return ask()
    except BaseException:
        return None


def _text(error: BaseException) -> str:
    text = _harmless(lambda: str(error))
    message = parse((text or "")[:_MOST])
    if message.gb_type:
        return one_line(f"{message.gb_type}: {message.explanation}")
    return message.explanation or "no message"


def _place(error: BaseException, places: Places) -> str | None:
    """The innermost frame in the user's own code, else the innermost that is neither torch's nor this tool's."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{places.show(error.filename)}:{error.lineno}"
    # Errors of Dynamo carry the stack of the code that was being traced; it is deeper than the one that was running.
    traced = getattr(error, "real_stack", None) or []
    frames = [f for f in (*traceback.extract_tb(error.__traceback__), *traced) if not places.is_tool(f.filename)]
    for kind in ("own", "third-party"):
        for frame in reversed(frames):
            if places.kind(frame.filename) == kind:
                return f"{places.show(frame.filename)}:{frame.lineno} in {frame.name}"
    return None
