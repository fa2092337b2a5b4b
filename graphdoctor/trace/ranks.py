"""The processes of a job side by side: runs for the report, and what is not the same on all ranks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from graphdoctor.breaks.backend_failures import failed_backends, is_backend_failure
from graphdoctor.breaks.grouping import distinct
from graphdoctor.breaks.job_locations import JobPlaces, Sources
from graphdoctor.breaks.locations import function_at
from graphdoctor.breaks.recompiles.guards import without_symbols
from graphdoctor.model.runs import Break, DynamicRun, FullGraph, Numerics, Recompile
from graphdoctor.trace.guarded import Guarded, deciding
from graphdoctor.trace.process import Process
from graphdoctor.trace.recompiles import recompiles

_NOT_TRIED = "this is read from a trace"


@dataclass(frozen=True)
class Ran:
    """What one process did, named by its rank."""

    label: str
    process: Process
    run: DynamicRun
    #: Values that the functions of breaks were compiled for, by path as the report has it, and name of the function.
    values: Mapping[tuple[str, str], Sequence[Guarded]] = field(default_factory=dict)


def ran(processes: Sequence[Process], places: JobPlaces, sources: Sources) -> tuple[Ran, ...]:
    """The run of each process."""
    known = {places.show(path) for process in processes for path in process.traced or () if places.kind(path) == "own"}
    broken = {frame.path for process in processes for event in process.breaks for frame in event.traced}
    return tuple(
        Ran(label, process, _run(label, process, places, sources, known), _values(process, broken, places, sources))
        for label, process in zip(_names(processes), processes, strict=True)
    )


def _values(
    process: Process, broken: Iterable[str], places: JobPlaces, sources: Sources
) -> dict[tuple[str, str], list[Guarded]]:
    found: dict[tuple[str, str], list[Guarded]] = {}
    for path in broken:
        # Guards have the end of a path only.
        for value in (value for value in process.guarded if path.endswith(value.path)):
            if function := function_at(sources.text(path), value.line):
                found.setdefault((places.show(path), function), []).append(value)
    return found


def _names(processes: Sequence[Process]) -> list[str]:
    """A program of one process has the name of its file, where the trace has it; others are numbered."""
    programs = processes[0].notes.get("graphdoctor_program", ()) if len(processes) == 1 else ()
    main = next((program.get("main") for program in programs), None)
    if isinstance(main, str) and processes[0].rank is None:
        return [PurePath(main).name]
    return labels([process.rank for process in processes])


def labels(ranks: Sequence[int | None]) -> list[str]:
    """``rank 3``; of several processes of one rank ``rank 3 (process 2)``; without a rank ``process 2``."""
    total, met = Counter(ranks), Counter[int | None]()
    names = []
    for rank in ranks:
        met[rank] += 1
        if rank is None:
            names.append(f"process {met[rank]}")
        else:
            names.append(f"rank {rank}" + (f" (process {met[rank]})" if total[rank] > 1 else ""))
    return names


def _run(label: str, process: Process, places: JobPlaces, sources: Sources, known: set[str]) -> DynamicRun:
    events = [sources.placed(replace(event, times=times)) for event, times in process.breaks.items()]
    return DynamicRun(
        target=label,
        mode="train" if process.trains else "eval" if process.infers else "unknown",
        device=next((device for device in sorted(process.devices) if device not in ("cpu", "meta")), "cpu"),
        outcome="ok",
        inputs="the calls of the program itself",
        graphs=process.graphs,
        operators=process.operators,
        breaks=distinct([event for event in events if not is_backend_failure(event)], places, sources.text),
        fullgraph=FullGraph(None, _NOT_TRIED),
        ladder=failed_backends(events, places),
        recompiles=recompiles(process, places, sources.text),
        numerics=Numerics(None, None, "", _NOT_TRIED),
        executed=_traced(process, places, known),
        traced_only=True,
    )


def _traced(process: Process, places: JobPlaces, known: set[str]) -> dict[str, frozenset[int]]:
    """The lines of the ``known`` files that Dynamo traced; empty where the trace does not have them."""
    if process.traced is None:
        return {}
    lines = {places.show(path): frozenset(found) for path, found in process.traced.items()}
    return {path: lines.get(path, frozenset()) for path in known}


def grouped(every: Iterable[Ran]) -> tuple[DynamicRun, ...]:
    """One run for all processes that did the same; its breaks have the events of all of them."""
    same: list[tuple[DynamicRun, list[Ran]]] = []
    for entry in every:
        # Which lines were traced may differ where nothing of the report does.
        bare = replace(entry.run, target="", executed={})
        known = next((entries for run, entries in same if run == bare), None)
        if known is None:
            same.append((bare, [entry]))
        else:
            known.append(entry)
    return tuple(
        replace(
            run,
            target=together([entry.label for entry in entries]),
            breaks=tuple(replace(b, events=b.events * len(entries)) for b in run.breaks),
            executed=_united(entry.run.executed for entry in entries),
        )
        for run, entries in same
    )


def _united(every: Iterable[Mapping[str, frozenset[int]]]) -> dict[str, frozenset[int]]:
    lines: dict[str, frozenset[int]] = {}
    for executed in every:
        for path, found in executed.items():
            lines[path] = lines.get(path, frozenset()) | found
    return lines


def together(names: Sequence[str]) -> str:
    """``rank 3``, ``ranks 0-2, 5``; names that are not plain ranks are listed after them."""
    plain = sorted(int(name[5:]) for name in names if name.startswith("rank ") and name[5:].isdigit())
    others = [name for name in names if not (name.startswith("rank ") and name[5:].isdigit())]
    spans: list[list[int]] = []
    for rank in plain:
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
    ranks = [f"{'rank' if len(plain) == 1 else 'ranks'} {shown}"] if plain else []
    return ", ".join([*ranks, *others])


def ranked(every: Sequence[Ran]) -> list[Ran]:
    """The ranks among the processes: others, as those that load data, are not meant to do the same."""
    return [entry for entry in every if entry.process.rank is not None]


#: The key of a break, as in ``diagnosis.sites``: breaks with equal keys are the same.
Site = tuple[str, int, int | None, str | None]


def site(entry: Break) -> Site:
    """The identity of a break over ranks."""
    return entry.path, entry.line, entry.column, entry.gb_id or entry.gb_type


def uneven_breaks(every: Sequence[Ran]) -> dict[Site, tuple[str, ...]]:
    """The breaks that some ranks do not have, with those that have them."""
    every = ranked(every)
    met: dict[Site, list[str]] = {}
    for entry in every:
        for found in dict.fromkeys(map(site, entry.run.breaks)):
            met.setdefault(found, []).append(entry.label)
    return {found: tuple(names) for found, names in met.items() if len(names) < len(every)}


def uneven_recompiles(every: Sequence[Ran]) -> dict[tuple[str | None, int | None, str], tuple[str, ...]]:
    """The recompiles (path, line, kind of cause) that some ranks do not have, with those that have them."""
    every = ranked(every)
    met: dict[tuple[str | None, int | None, str], list[str]] = {}
    for entry in every:
        for key in dict.fromkeys(kind_of_cause(recompile) for recompile in entry.run.recompiles):
            met.setdefault(key, []).append(entry.label)
    return {key: tuple(names) for key, names in met.items() if len(names) < len(every)}


def deciding_value(every: Sequence[Ran], found: Break, names: Sequence[str]) -> str:
    """What tells the ranks ``names``, which alone have ``found``, from the others: ``flag is True (False on rank 0)``.

    Empty where no guard on the way to that line shows it.
    """
    near = {
        entry.label: [v for v in entry.values.get((found.path, found.function), ()) if v.line <= found.line]
        for entry in ranked(every)
    }
    others = [label for label in near if label not in names]
    some, rest = ([value for label in labels for value in near[label]] for labels in (names, others))
    decided = deciding(some, rest)
    return f"{decided[0]} is {decided[1]} ({decided[2]} on {together(others)})" if decided else ""


def kind_of_cause(recompile: Recompile) -> tuple[str | None, int | None, str]:
    """What makes two recompiles the same over ranks: path, line, what changed."""
    # The words may hold values, which differ from rank to rank.
    what = recompile.input or without_symbols(recompile.guard.partition(" ")[0])
    return recompile.path, recompile.line, what
