"""Functions that one call of the sample compiles several times: behind graph breaks, for each block of a model."""

from __future__ import annotations

from collections import Counter

from graphdoctor.breaks.locations import Places
from graphdoctor.breaks.recompiles import guards
from graphdoctor.dynamic.recompiles.recompile import recompile_limit
from graphdoctor.dynamic.tracing.capture import Failed, Recording
from graphdoctor.model.runs import Recompile

#: Up to this many compilations there is nothing to act on.
_FEW = 2


def recompiles_of_one_call(recording: Recording, places: Places) -> tuple[Recompile, ...]:
    """The recompiles of a call, one for each function that was compiled three times or more, or given up.

    After a graph break a function is compiled by itself, so that is what to remove. Nothing is said where none broke.
    """
    if not recording.events:
        return ()
    codes = {start.frame: (start.path, start.line) for start in recording.starts}
    started = {(start.frame, start.attempt) for start in recording.starts}
    counts = Counter(codes[frame] for frame, _ in started)
    failed: dict[tuple[str, int], list[Failed]] = {}
    for each in recording.recompiles:
        if each.frame in codes:
            failed.setdefault(codes[each.frame], []).append(each)
    found = []
    for code, every in failed.items():
        at_limit = any((each.frame, each.attempt) not in started for each in every)
        if (counts[code] <= _FEW and not at_limit) or places.kind(code[0]) not in ("own", "third-party"):
            continue
        # What most of them failed at; the newest entry of the cache is named first.
        read = [guards.read(each.reasons[0]) for each in every]
        most = Counter((guard.kind, guard.name, guard.dimension) for guard in read).most_common(1)[0][0]
        guard = next(each for each in read if (each.kind, each.name, each.dimension) == most)
        made = Recompile(
            cause=guard.words,
            guard=guard.text,
            input=None,
            dimension=guard.dimension,
            path=places.show(code[0]),
            line=code[1],
            compilations=counts[code],
            remedy=guards.REMOVE_BREAKS,
            kind=guard.kind,
            name=guard.name,
            varied="one call of the sample",
            limit=recompile_limit(),
            at_limit=at_limit,
            later_calls=0,
        )
        found.append(made)
    return tuple(found)
