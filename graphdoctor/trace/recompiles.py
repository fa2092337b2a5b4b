"""The recompiles of a process: each cause once, with the function that was compiled again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from graphdoctor.breaks.argument_names import ArgumentNames
from graphdoctor.breaks.grouping import resumed
from graphdoctor.breaks.locations import Places
from graphdoctor.breaks.recompiles import guards
from graphdoctor.breaks.recompiles.decisive_guard import READ, Compilations, what
from graphdoctor.model.runs import Recompile
from graphdoctor.trace.compiled_calls import CompiledCalls, Function
from graphdoctor.trace.left_by_breaks import BreaksAbove
from graphdoctor.trace.process import Code, Process, Recompiled
from graphdoctor.trace.recompile_advice import Cause, advice

#: Guards whose name is no argument of the function.
_NO_INPUT = ("attribute", "mode", "global", "state", "identity", "lifetime")

_OF_LIBRARY = "remove the graph breaks of what calls it: traced into a graph, it is not compiled on its own"
#: Causes of one function that are listed.
_SHOWN = 3
_ONE = re.compile(r" size mismatch at index \d+\. expected (\d+),")

_OF_DYNAMIC_SIZE = re.compile(r"\.size\(\)\[\d+\]")

#: Kind of guard, what it looks at, dimension, whether the size was dynamic, outermost compiled function.
_Key = tuple[str, str | None, int | None, bool, Function]


def recompiles(process: Process, places: Places, text: Callable[[str], str]) -> tuple[Recompile, ...]:
    """The distinct causes in the order met; ``text`` gives the source of a path, or nothing.

    A call that recompiles fails the same guard in every frame it comes through: torch's wrappers around a model, and
    each part that a graph break cut off. A cause is reported at the user's function where it was met there too.
    """
    found: dict[_Key, tuple[Recompiled, guards.Guard]] = {}
    calls = CompiledCalls(process, places, text)
    limits: set[_Key] = set()
    fixed: set[_Key] = set()
    caused: Counter[_Key] = Counter()
    needing: dict[_Key, guards.Guard] = {}
    compilations = Compilations()
    for failed in process.recompiles:
        if failed.is_first:
            continue
        reasons = _named(failed, process)
        guard = compilations.guard_of(reasons, *failed.id)
        # A size that is dynamic by now, and that the code decides by, is a cause of its own, at the line that decides.
        dynamic = guard.kind == "size" and _OF_DYNAMIC_SIZE.search(guard.text) is not None
        key = (*what(guard), dynamic, calls.outermost(failed.code))
        found.setdefault(key, (failed, guard))
        if guard.needed_by:
            needing.setdefault(key, guard)
        if _holds_for_one_size(guard, reasons):
            fixed.add(key)
        if failed.at_limit:
            limits.add(key)
        elif failed.code == found[key][0].code:
            caused[key] += 1
    # The limit counts the frame that is called, which may be a wrapper around the user's function.
    limited = {(met[0], met[2]) for met in limits if not _is_users(found[met][0].code, places)}
    own = {(kind, dimension) for (kind, _, dimension, *_), (at, _) in found.items() if _is_users(at.code, places)}
    above = BreaksAbove(process, places, text)
    every = []
    for met, (failed, guard) in found.items():
        kind, _, dimension, *_ = met
        if _is_users(failed.code, places) or (kind, dimension) not in own or _is_alone(failed, process, places):
            names = process.argument_names.get(failed.code)
            wrapped = len(names.objects) if names is not None else 0
            at_limit = met in limits or (kind, dimension) in limited
            cause = Cause(guard, failed.code, above, caused[met], at_limit, met in fixed, needing.get(met), wrapped)
            every.append((failed.code, _recompile(failed, cause)))
    return _by_library_function(every, process, places)


def _names(failed: Recompiled, process: Process) -> ArgumentNames | None:
    return failed.names or process.argument_names.get(failed.code)


def _is_alone(failed: Recompiled, process: Process, places: Places) -> bool:
    """Whether ``failed`` is of a wrapper around a function that was traced into its graph, not compiled itself.

    One of torch's, such as the ``forward`` of DDP, may call a module of the user that is.
    """
    names = _names(failed, process)
    function = names.function if names is not None else None
    if function is None or places.kind(function[0]) == "torch":
        return False
    return not any((code.path, resumed(code.name)) == (function[0], function[2]) for code in process.costs)


def _named(failed: Recompiled, process: Process) -> Sequence[str]:
    """The reasons that are read, with the user's names for the arguments of a wrapper."""
    names = _names(failed, process)
    return [names.renamed(each) for each in failed.reasons[:READ]] if names is not None else failed.reasons


def _holds_for_one_size(guard: guards.Guard, reasons: Sequence[str]) -> bool:
    """Whether two compilations hold for one size each of the tensor that ``guard`` is on.

    When the second of them was made, Dynamo knew that the size changes, and would have made it dynamic.
    """
    every = [guards.read(reason) for reason in reasons[:READ]] if guard.kind == "size" else []
    same = (each.text for each in every if (each.name, each.dimension) == (guard.name, guard.dimension))
    sizes = {found[1] for found in map(_ONE.search, same) if found}
    return len(sizes - {"0", "1"}) > 1


def _by_library_function(
    found: Sequence[tuple[Code, Recompile]], process: Process, places: Places
) -> tuple[Recompile, ...]:
    """The causes of ``found``; those of one function of a library are one where a break in the user's code is why it
    has a compilation of its own: the user can mend the break, and not change each call in the library."""
    if not _breaks_first(process, places):
        return tuple(recompile for _, recompile in found)
    kept: dict[Code | int, list[Recompile]] = {}
    for number, (code, recompile) in enumerate(found):
        is_librarys = places.kind(code.path) == "third-party" and recompile.path == places.show(code.path)
        kept.setdefault(code if is_librarys else number, []).append(recompile)
    return tuple(_together(code, every) if isinstance(code, Code) else every[0] for code, every in kept.items())


def _breaks_first(process: Process, places: Places) -> bool:
    """Whether the user's code was compiled first, and has a graph break: what it calls is compiled on its own then."""
    first = next(iter(process.costs), None)
    broken = (event.traced[-1].path for event in process.breaks if event.traced)
    return first is not None and places.kind(first.path) == "own" and any(places.kind(path) == "own" for path in broken)


def _together(code: Code, found: Sequence[Recompile]) -> Recompile:
    shown = "; ".join(recompile.cause for recompile in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    at_limit = any(recompile.at_limit for recompile in found)
    return replace(
        found[0],
        cause=f"the calls of {code.name} differ: {shown}{more}",
        line=code.line,
        remedy=_OF_LIBRARY,
        at_limit=at_limit,
    )


def _is_users(code: Code, places: Places) -> bool:
    return places.kind(code.path) in ("own", "third-party")


def _recompile(failed: Recompiled, cause: Cause) -> Recompile:
    guard, code, places = cause.guard, cause.code, cause.above.places
    # A frame around the user's code says nothing: the line that asked for the value does, and where the frame is one
    # of torch, such as that of a layer, the call that was compiled again.
    asked = _asked_at(guard, cause.above.process.traced or {}, places) if places.kind(code.path) != "own" else None
    called = asked or (_wrapped(failed, cause) if _is_users(code, places) else places.innermost(failed.above))
    # Names like ___stack0 are Dynamo's, for what a graph break left on the stack.
    named = guard.name is not None and guard.kind not in _NO_INPUT and not guard.name.startswith(("_", "self."))
    return Recompile(
        cause=guard.words,
        guard=guard.text,
        input=guard.name if named else None,
        dimension=guard.dimension,
        path=places.show(called[0] if called else code.path),
        # Dynamo shortens the path of the guarded line from the left.
        line=called[1] if called else guard.line if guard.path and code.path.endswith(guard.path) else code.line,
        compilations=cause.above.process.costs[code].compilations,
        remedy=advice(cause),
        kind=guard.kind,
        name=guard.name,
        at_limit=cause.at_limit,
        caused=cause.caused,
        later_calls=0 if cause.differs_by_layer else None,
    )


def _wrapped(failed: Recompiled, cause: Cause) -> tuple[str, int] | None:
    """The user's function that the user's wrapper is around, which has the argument that ``cause`` is on."""
    names = _names(failed, cause.above.process)
    function = names.function if names is not None and cause.guard.line is None else None
    return function[:2] if function is not None and cause.above.places.kind(function[0]) == "own" else None


def _asked_at(guard: guards.Guard, traced: Mapping[str, set[int]], places: Places) -> tuple[str, int] | None:
    """The line of the user's that set up ``guard``, where one file only of those ``traced`` fits its shortened path."""
    if guard.path is None or guard.line is None:
        return None
    fits = [path for path, lines in traced.items() if guard.line in lines and path.endswith(guard.path)]
    return (fits[0], guard.line) if len(fits) == 1 and places.kind(fits[0]) == "own" else None
