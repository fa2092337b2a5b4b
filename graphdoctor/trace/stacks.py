"""The text of a graph-break record -> the event that the dynamic pass would have seen. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from graphdoctor.breaks.grouping import RawEvent, RawFrame, resumed
from graphdoctor.breaks.messages import parse

_FILE = re.compile(r'  File "(.+)", line (\d+), in (.+)')
#: Characters of a message that are kept.
_MOST = 20_000
#: Dynamo's error for what it cannot capture; all others are failures.
_NO_ERROR = "Unsupported"
_MARK = re.compile(r"[~^]")
_REASON = re.compile(r"^(?:Graph Break )?Reason: ", re.MULTILINE)
_RAISED = re.compile(r"^torch\._dynamo\.exc\.(\w+): (.*)", re.MULTILINE | re.DOTALL)
#: What Dynamo raises where an operator fails on fake tensors, as it would on real ones: the call ends with it.
_ENDS_CALL = "TorchRuntimeError"
#: torch/_dynamo/symbolic_convert.py and convert_frame.py: how a break that drops the whole frame is reported.
_SKIPPED = ("Failed to handle graph break gracefully", "which results in a skip", "Skipping the function")


@dataclass(frozen=True)
class TracedBreak:
    """A break as its record has it; ``code`` holds the source lines of its stack, by path and line."""

    event: RawEvent
    code: Mapping[tuple[str, int], str]


def traced_break(payload: str, ids: Mapping[str, str]) -> TracedBreak | None:
    """The event behind a ``dynamo_graph_break_reason``; None for those that come a second time.

    ``ids`` maps graph-break types to the registry's ids, for messages that link none. A column counts in the source
    line without its indentation, which the text does not have.
    """
    if payload.startswith("WON'T CONVERT"):
        # A backend error that may fall back: it comes again as a break of its own (GB0219).
        return None
    # Below the stack of the user's code, the text has the one of Dynamo itself.
    head, _, internals = payload.partition("\nTraceback (most recent call last):")
    reason = _REASON.search(head)
    raised = _RAISED.search(internals)
    explanation = head[reason.end() :].partition("\nUser code traceback:")[0].strip() if reason else None
    message = (raised[2] if raised else head) if explanation is None else explanation
    kind: Literal["resume", "skip", "raise"] = "skip" if any(text in head for text in _SKIPPED) else "resume"
    if raised and raised[1] == _ENDS_CALL:
        kind = "raise"
    frames, code = _stack(head)
    event = RawEvent(message[:_MOST], kind, (), frames, gb_id=ids.get(parse(message[:_MOST]).gb_type or ""))
    return TracedBreak(event, code)


def with_frames(found: TracedBreak, traced: Sequence[RawFrame]) -> TracedBreak:
    """``found`` with the frames of ``traced`` that the text of its record leaves out; both end at the same frame."""
    frames = list(found.event.traced)
    at = len(frames)
    for frame in reversed(traced):
        if at and (frames[at - 1].path, frames[at - 1].line) == (frame.path, frame.line):
            at -= 1
        else:
            frames.insert(at, frame)
    return replace(found, event=replace(found.event, traced=tuple(frames)))


def of_whole_function(found: TracedBreak) -> TracedBreak:
    """``found`` as a break for which Dynamo gives up the whole function, where its record does not say so."""
    return replace(found, event=replace(found.event, kind="skip"))


def compiled_frame(stack: Sequence[RawFrame], first: int, code: RawFrame) -> int | None:
    """The number of the frame in ``stack``, from ``first`` on, that runs what was compiled as ``code``; None if none.

    A text has the name of the source for what goes on after a break. Of several functions of one name, such as the
    ``forward`` of the classes of a file, it is the one that begins closest before the line of its frame.
    """
    named = (code.path, resumed(code.name))
    found = (n for n in range(first, len(stack)) if (stack[n].path, resumed(stack[n].name)) == named)
    return min(found, key=lambda n: (stack[n].line < code.line, abs(stack[n].line - code.line)), default=None)


def failed_compilation(metrics: Mapping[str, Any], stack: tuple[RawFrame, ...], ids: Mapping[str, str]) -> TracedBreak:
    """A compilation that raised instead of falling back (``fullgraph=True``, a backend, an error while tracing)."""
    reason, error = str(metrics.get("fail_reason")), str(metrics["fail_type"])
    gb_id = ids.get(reason.partition("\n")[0])
    if "\n  Explanation: " not in reason:
        reason = " ".join(reason.split())
        reason = reason if error == _NO_ERROR else f"compiling fails with {error}: {reason}"
    path, line = metrics.get("fail_user_frame_filename"), metrics.get("fail_user_frame_lineno")
    if path and line:
        same = bool(stack) and stack[-1].path == path
        place = RawFrame(str(path), int(line), None, stack[-1].name if same else "")
        stack = (*(stack[:-1] if same else stack), place)
    event = RawEvent(reason, "raise", (), stack, gb_id=gb_id, error=error)
    return TracedBreak(event, {})


def _stack(text: str) -> tuple[tuple[RawFrame, ...], dict[tuple[str, int], str]]:
    frames: list[RawFrame] = []
    code: dict[tuple[str, int], str] = {}
    lines = text.splitlines()
    # A mark below a line is left out where it would be below all of it.
    marked = any(line.strip() and not line.strip(" ~^") for line in lines)
    for number, line in enumerate(lines):
        if (match := _FILE.fullmatch(line)) is None:
            continue
        path, at = match[1], int(match[2])
        source, below = (*lines[number + 1 : number + 3], "", "")[:2]
        column = None
        if source.startswith("    "):
            code[path, at] = source.strip()
            mark = _MARK.search(below) if below.strip() and not below.strip(" ~^") else None
            column = mark.start() - 3 if mark else 1 if marked else None
        frames.append(RawFrame(path, at, column, match[3]))
    return tuple(frames), code


def is_recorder(path: str) -> bool:
    """Whether ``path`` is what ``graphdoctor run`` put between the program and its compiled functions."""
    return "/graphdoctor/recorder/" in path.replace("\\", "/")
