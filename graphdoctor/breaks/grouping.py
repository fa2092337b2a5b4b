"""Events of the trace -> distinct graph breaks, each placed in the user's code. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from graphdoctor.breaks.enclosing_if import condition_at
from graphdoctor.breaks.explanations import in_plain_words, says_intended
from graphdoctor.breaks.locations import Places, function_at
from graphdoctor.breaks.measured_costs import is_rest_alone
from graphdoctor.breaks.messages import parse
from graphdoctor.breaks.optimizer_updates import is_of_optimizer, takes_steps_only
from graphdoctor.model.findings import Owner
from graphdoctor.model.runs import Break, Frame

#: torch_dynamo_resume_in_<name>_at_<offset or line>, torch/_dynamo/resume_execution.py
_RESUME = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+$")

#: Breaks that torch makes on purpose and nobody can remove: end of path, and function ("" is any).
_DELIBERATE = (
    ("torch/optim/optimizer.py", "_use_grad"),
    ("torch/nn/parallel/distributed.py", ""),
)
#: Where FSDP has its hooks: no line of a model asks for them.
_FSDP = "torch/distributed/fsdp/"
#: Ids of what only a graph break brings about: something in use cannot be made again after it.
_OF_ANOTHER = frozenset({"GB0092"})
#: Dynamo's Python versions of functions written in C, which calls of torch go through.
_POLYFILLS = "torch/_dynamo/polyfills/"


@dataclass(frozen=True)
class RawFrame:
    """A frame as Dynamo names it: absolute path, 1-based column (None when unknown), raw function name."""

    path: str
    line: int
    column: int | None
    name: str


@dataclass(frozen=True)
class RawEvent:
    """One graph break record. ``above`` are the running frames that called the traced ones; both outermost first.

    ``kind``: "resume" (compiled up to here), "skip" (the whole frame runs uncompiled), "raise" (the call failed).
    ``gb_id`` is the registry's id for the message's type where the message itself links none. ``times`` is how many
    equal records it stands for.
    """

    message: str
    kind: Literal["resume", "skip", "raise"]
    above: tuple[RawFrame, ...]
    traced: tuple[RawFrame, ...]
    gb_id: str | None = None
    #: Class name of an exception that has no gb_type.
    error: str | None = None
    times: int = 1


def distinct(events: Sequence[RawEvent], places: Places, source: Callable[[str], str]) -> tuple[Break, ...]:
    """The break sites behind ``events``, in the order of their first event.

    A site is (type, place in the user's code, innermost line that is neither torch's nor Python's). The same line
    recurs for each frame of an inlined call chain and on each recompile: those are counted in ``Break.events``, and
    so is what Dynamo cannot do because the graph ends there.
    ``source`` gives the text of an absolute path, to name functions.
    """
    return numbered(events, places, source)[0]


def of_calls(
    calls: Iterable[Sequence[RawEvent]],
    places: Places,
    source: Callable[[str], str],
    known: Iterable[Break],
    first: int = 1,
) -> tuple[Break, ...]:
    """The breaks of calls in order that are at no place of ``known``, with the number of the first call that has them.

    ``first`` is the number of the first of ``calls``.
    """
    met = set(map(place, known))
    found: list[Break] = []
    for number, events in enumerate(calls, first):
        fresh = [entry for entry in distinct(events, places, source) if place(entry) not in met]
        met.update(map(place, fresh))
        found += (replace(entry, call=number) for entry in fresh)
    return tuple(found)


def place(entry: Break) -> tuple[str, int, str | None]:
    """The key of a break, the same in every call that has it."""
    return entry.path, entry.line, entry.gb_id or entry.gb_type


def numbered(
    events: Sequence[RawEvent], places: Places, source: Callable[[str], str]
) -> tuple[tuple[Break, ...], dict[int, int]]:
    """``distinct`` of ``events``; and by the number of an event the number of the break that it belongs to."""
    sites: dict[tuple[object, ...], list[Break]] = {}
    met: dict[int, tuple[tuple[object, ...], int]] = {}
    for number, event in enumerate(events):
        stack = user_stack(event, places)
        if stack:
            site = _innermost(stack, places, ("own", "third-party")) or stack[-1]
            fresh = _break(event, stack, site, places, source)
            place = (fresh.path, fresh.line, site.path, site.line)
            key: tuple[object, ...] = (fresh.gb_type, *place)
            rest = _is_rest_of_line(event)
            if fresh.gb_id in _OF_ANOTHER or rest:
                key = next((known for known in sites if known[1:] == place), key)
            met[number] = key, _count(sites.setdefault(key, []), fresh, rest)
    starts = dict(zip(sites, accumulate(map(len, sites.values()), initial=0), strict=False))
    breaks = tuple(found for group in sites.values() for found in group)
    return breaks, {number: starts[key] + index for number, (key, index) in met.items()}


def _is_rest_of_line(event: RawEvent) -> bool:
    """Whether what is left of a function behind a break is given up as a whole: on the line of the break, it is the
    loop over what the call that broke gives.
    """
    return event.kind == "skip" and bool(event.traced) and _is_resumed(event.traced[-1])


def _count(group: list[Break], fresh: Break, rest: bool) -> int:
    """Add ``fresh`` to the breaks of its line, or count it as one more event of the break it repeats; where it is.

    The ``rest`` of a line repeats its break, whatever its column.
    """
    for i, known in enumerate(group):
        # Frames above the traced ones may run rewritten bytecode, which has lines but no columns.
        if rest or known.column == fresh.column or known.column is None or fresh.column is None:
            group[i] = replace(
                known,
                column=known.column or fresh.column,
                events=known.events + fresh.events,
                whole_frame=known.whole_frame or fresh.whole_frame,
                rest=is_rest_alone((known, fresh)),
                dropped=tuple(dict.fromkeys((*known.dropped, *fresh.dropped))),
            )
            return i
    group.append(fresh)
    return len(group) - 1


def _break(
    event: RawEvent, stack: Sequence[RawFrame], site: RawFrame, places: Places, source: Callable[[str], str]
) -> Break:
    message = parse(event.message)
    message = replace(message, gb_id=message.gb_id or event.gb_id)
    anchor = _innermost(stack, places, ("own",)) or site
    reason, hints = in_plain_words(message)
    deliberate = is_deliberate(event, places) or _is_update(event, places, source)
    if deliberate:
        reason, hints = reason if says_intended(message) else f"{reason}, which torch intends", ()
    given_up = dropped(event, places, source)
    owner: Owner = "torch" if deliberate else _owner(site, places)
    if _is_of_fsdp(stack, site):
        owner, reason, hints = "third-party", "the hooks that FSDP runs around a module are not traced", ()
    inner = stack[-1]
    return Break(
        path=places.show(anchor.path),
        line=anchor.line,
        column=anchor.column,
        function=_function(anchor, source),
        gb_id=message.gb_id,
        gb_type=message.gb_type or event.error,
        reason=reason,
        hints=hints,
        events=event.times,
        whole_frame=event.kind == "skip",
        rest=_is_rest(event, places),
        owner=owner,
        stack=tuple(_frame(f, places, source) for f in stack),
        dropped=() if given_up is None else (given_up,),
        raises=event.kind == "raise",
        condition="" if owner == "own" else condition_at(source(inner.path), inner.line),
    )


def dropped(event: RawEvent, places: Places, source: Callable[[str], str]) -> Frame | None:
    """The function that runs uncompiled as a whole after ``event``: the one that was being compiled, a caller of what
    Dynamo inlined into it. A wrapper of torch's (``Module.__call__``, a decorator) stands for what it calls, which is
    compiled and given up next. None where it is split.
    """
    if event.kind != "skip" or not event.traced:
        return None
    compiled = _plain(_compiled(event, places))
    frame = _frame(compiled, places, source)
    inner = replace(frame, function=f"{frame.function}.{compiled.name}")
    return inner if inner.is_comprehension and frame.function != compiled.name else frame


def _is_rest(event: RawEvent, places: Places) -> bool:
    """Whether what is given up after ``event`` is the rest of a function, behind a break that split it before."""
    return event.kind == "skip" and bool(event.traced) and _is_resumed(_compiled(event, places))


def _compiled(event: RawEvent, places: Places) -> RawFrame:
    return next((frame for frame in event.traced if places.kind(frame.path) != "torch"), event.traced[0])


def _is_resumed(frame: RawFrame) -> bool:
    return resumed(frame.name) != frame.name


def dropped_functions(events: Sequence[RawEvent], places: Places, source: Callable[[str], str]) -> dict[int, str]:
    """The names of the functions that ``dropped`` gives, by the numbers of the events."""
    frames = ((number, dropped(event, places, source)) for number, event in enumerate(events))
    return {number: frame.function for number, frame in frames if frame is not None}


def user_stack(event: RawEvent, places: Places) -> list[RawFrame]:
    """The frames of ``event`` that a user knows, outermost first. A resume frame is shown as the function that it
    resumes.
    """
    # What stands above this tool's first frame started the worker.
    start = next((number for number, f in enumerate(event.above) if places.is_tool(f.path)), 0)
    above = [f for f in event.above[start:] if not places.is_tool(f.path) and places.kind(f.path) != "torch"]
    stack: list[RawFrame] = []
    for frame in (*above, *(f for f in event.traced if not places.is_tool(f.path))):
        known = _plain(frame)
        if known is frame:
            stack.append(frame)
            continue
        frame = known
        # The caller of a resume frame is the frame it goes on with. Other neighbours of one name are two frames.
        if stack and (stack[-1].name, stack[-1].path) == (frame.name, frame.path):
            stack.pop()
        stack.append(frame)
    return stack


def resumed(name: str) -> str:
    """The name of the function that a resume function goes on with; any other name as it is."""
    found = _RESUME.match(name)
    return name if found is None else found[1]


def _plain(frame: RawFrame) -> RawFrame:
    """The function that a resume frame goes on with; any other frame as it is."""
    name = resumed(frame.name)
    return frame if name == frame.name else replace(frame, name=name)


def _innermost(stack: Sequence[RawFrame], places: Places, kinds: tuple[str, ...]) -> RawFrame | None:
    return next((f for f in reversed(stack) if places.kind(f.path) in kinds), None)


def is_deliberate(event: RawEvent, places: Places) -> bool:
    """Whether ``event`` is a break that torch makes on purpose."""
    frames = [frame for frame in (*event.above, *event.traced) if not places.is_tool(frame.path)]
    # What torch asks Python's library to do (a context manager of DDP's) is torch's doing.
    calls = [f for f in frames if places.kind(f.path) != "library" and _POLYFILLS not in _posix(f)] or frames
    return any(
        _posix(frame).endswith(path) and name in ("", frame.name) for frame in calls[-1:] for path, name in _DELIBERATE
    )


def _is_update(event: RawEvent, places: Places, source: Callable[[str], str]) -> bool:
    """Whether the step of an optimizer is all that is compiled, which torch's guide shows."""
    if not is_of_optimizer(event.message):
        return False
    users = [frame for frame in event.traced if places.kind(frame.path) != "torch"]
    return not users or takes_steps_only(source(users[-1].path), users[-1].line)


def _is_of_fsdp(stack: Sequence[RawFrame], site: RawFrame) -> bool:
    """Whether the break is in what FSDP runs around a module, which the line of ``site`` only calls."""
    below = stack[max(number for number, frame in enumerate(stack) if frame is site) + 1 :]
    return any(_FSDP in _posix(frame) for frame in below)


def _owner(site: RawFrame, places: Places) -> Owner:
    kind = places.kind(site.path)
    return "torch" if kind == "library" else kind


def _posix(frame: RawFrame) -> str:
    return frame.path.replace("\\", "/")


def _frame(frame: RawFrame, places: Places, source: Callable[[str], str]) -> Frame:
    return Frame(places.show(frame.path), frame.line, _function(frame, source))


def _function(frame: RawFrame, source: Callable[[str], str]) -> str:
    return function_at(source(frame.path), frame.line) or frame.name
