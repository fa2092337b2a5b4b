"""The recompiles of calls that were made in this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from graphdoctor.breaks.locations import Places
from graphdoctor.breaks.recompiles import guards
from graphdoctor.dynamic.recompiles.advice import advice
from graphdoctor.dynamic.recompiles.causes import Cause, differs_by_instance, place
from graphdoctor.dynamic.recompiles.recompile import recompile_limit
from graphdoctor.dynamic.tracing.capture import Failed, Recording
from graphdoctor.model.runs import Recompile

_Key = tuple[int, str, str | None, int | None]


def recompiles(
    recording: Recording, places: Places, placed: Callable[[str, int], tuple[str, int]]
) -> tuple[Recompile, ...]:
    """Each cause that came up again after it was compiled for. ``placed`` says where a line of a code object is shown.

    What changes once is no fault: state that the first call fills in, a size that becomes dynamic, another mode.
    """
    started = {(start.frame, start.attempt) for start in recording.starts}
    code = {start.frame: (start.path, start.line) for start in recording.starts}
    compiled = Counter(start.frame for start in recording.starts)
    groups: dict[_Key, list[Failed]] = {}
    for failed in recording.recompiles:
        guard = guards.read(failed.reasons[0])
        groups.setdefault((failed.frame, guard.kind, guard.name, guard.dimension), []).append(failed)
    found: dict[tuple[object, ...], Recompile] = {}
    for key, group in groups.items():
        frame = key[0]
        at_limit = any((failed.frame, failed.attempt) not in started for failed in group)
        if frame not in code or (len(group) < 2 and not at_limit):
            continue
        guard = guards.read(group[0].reasons[0])
        cause = Cause(guard, code[frame], None, guard.dimension, (), tuple(range(1, len(group) + 1)), at_limit)
        made = _recompile(cause, compiled[frame], places, placed)
        # After a break the rest of a function is a frame of its own, and fails the same guard again.
        known = found.setdefault(key[1:], made)
        if made.compilations > known.compilations or (made.at_limit and not known.at_limit):
            found[key[1:]] = replace(made, at_limit=made.at_limit or known.at_limit)
    return tuple(found.values())


def _recompile(
    cause: Cause, compilations: int, places: Places, placed: Callable[[str, int], tuple[str, int]]
) -> Recompile:
    path, line = placed(*place(cause, places))
    return Recompile(
        cause=cause.guard.words,
        guard=cause.guard.text,
        input=None,
        dimension=cause.dimension,
        path=places.show(path),
        line=line,
        compilations=compilations,
        remedy=advice(cause),
        kind=cause.guard.kind,
        name=cause.guard.name,
        limit=recompile_limit(),
        at_limit=cause.at_limit,
        later_calls=0 if differs_by_instance(cause.guard, cause.code) else None,
    )
