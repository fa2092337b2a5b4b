"""The regions of a file for reports: what is compiled by itself, and which findings lie in the code that it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphdoctor.lint.audience import Place
from graphdoctor.lint.result import FoundRegion, PathOf, key_of
from graphdoctor.model.findings import Finding, Region
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo, ModuleInfo
from graphdoctor.static.domain.torch_tables import AROUND_MODELS, within
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.state.call_graph import Called


def regions_of(
    interpreter: Interpreter, places: Iterable[Place], findings: Iterable[Finding], name_of: PathOf
) -> tuple[FoundRegion, ...]:
    """What is compiled by itself, where reports name its file; ``name_of`` says how. ``findings`` are those of
    ``places``.
    """
    by_function: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_function.setdefault((finding.location.path, finding.function), []).append(finding)
    hosts = _host_calls(places, name_of)
    known: dict[Called, _Shown] = {}
    found = []
    for entry in interpreter.call_graph.entered:
        if name_of(_module_of(entry).source.resolved) is None:
            continue
        ran = []
        for called in interpreter.call_graph.below(entry):
            if called not in known:
                # Many regions run the same functions.
                known[called] = _shown(called, name_of)
            ran.append(known[called])
        found.append(_region(entry, known[entry], ran, by_function, hosts))
    return (*found, *_around(interpreter.region_facts.around, name_of))


def _around(classes: Iterable[ClassInfo], name_of: PathOf) -> Iterable[FoundRegion]:
    """The ``classes`` that compile parts of themselves: no regions, but reports say why nothing is said of them."""
    for info in classes:
        path = name_of(info.module.source.resolved)
        if path is not None:
            line = info.module.source.location(info.node).line
            yield FoundRegion(
                Region(info.qualname, path, line, is_module=True, functions=0, compiles_parts=True), (), frozenset()
            )


@dataclass(frozen=True)
class _Shown:
    """What reports call a function: with the file that it is in, and as a region with the file of its class."""

    function: tuple[str, str]
    region: tuple[str, str]


def _shown(called: Called, name_of: PathOf) -> _Shown:
    info, _ = called
    function = name_of(info.module.source.resolved) or "", info.qualname
    return _Shown(function, (name_of(_module_of(called).source.resolved) or "", _name(called)))


def _region(
    entry: Called,
    shown: _Shown,
    ran: Sequence[_Shown],
    by_function: Mapping[tuple[str, str], Sequence[Finding]],
    hosts: Mapping[tuple[str, str], str],
) -> FoundRegion:
    functions = dict.fromkeys(each.function for each in ran)
    info, owner = entry
    node = owner.node if owner is not None and _is_call_of_module(info, owner) else info.node
    path, name = shown.region
    region = Region(
        name=name,
        path=path,
        line=_module_of(entry).source.location(node).line,
        is_module=node is not info.node,
        functions=len(functions),
        host=next((hosts[function] for function in functions if function in hosts), ""),
    )
    return FoundRegion(
        region,
        tuple(key_of(finding) for function in functions for finding in by_function.get(function, ())),
        frozenset(each.region for each in ran) - {shown.region},
    )


def _host_calls(places: Iterable[Place], name_of: PathOf) -> dict[tuple[str, str], str]:
    """By function, what it calls for sure that only code around a model uses."""
    found: dict[tuple[str, str], str] = {}
    for event in (hit.event for place in places for hit in place.hits):
        if isinstance(event, Call) and not event.site.conditional and within(event.qualname, AROUND_MODELS):
            path = name_of(event.site.module.resolved) or ""
            found.setdefault((path, event.site.function), event.qualname)
    return found


def _module_of(called: Called) -> ModuleInfo:
    """The module of the class whose object is called, else that of the function."""
    info, owner = called
    return owner.module if owner is not None and _is_call_of_module(info, owner) else info.module


def _name(called: Called) -> str:
    """``Net`` where a module is called, else ``Net.encode`` or ``function``."""
    info, owner = called
    if owner is None or not _is_call_of_module(info, owner):
        return info.qualname
    return owner.qualname


def _is_call_of_module(info: FunctionInfo, owner: ClassInfo) -> bool:
    # A class with a base that cannot be seen and a ``forward(self, ...)`` is entered as a module, too.
    return info.name == "forward" or (info.name == "__call__" and owner.is_module)
