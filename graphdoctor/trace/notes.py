"""What a trace has beside breaks and recompiles, one line each. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphdoctor.breaks.locations import Places, without_site
from graphdoctor.report.wording import plural
from graphdoctor.trace.ranks import Ran, ranked, together, uneven_breaks, uneven_recompiles

#: Functions whose compile time is listed; ``timings`` in the JSON has all of them.
SLOWEST = 5
#: Seconds that are not worth a line.
_BRIEF = 0.05
#: With more processes than this, only the fastest and the slowest are named.
_NAMED = 4


@dataclass(frozen=True)
class FrameTime:
    """The compilations of one function, over all processes."""

    place: str
    function: str
    seconds: float
    compilations: int
    processes: tuple[str, ...]


def frame_times(every: Sequence[Ran], places: Places, names: Mapping[tuple[str, int], str]) -> tuple[FrameTime, ...]:
    """The functions by compile time, the slowest first; ``names`` has those with a better name in the source."""
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    compilations: Counter[tuple[str, str]] = Counter()
    met: dict[tuple[str, str], dict[str, None]] = {}
    for entry in every:
        for code, cost in entry.process.costs.items():
            wrapped = entry.process.argument_names.get(code)
            modules = f" ({', '.join(wrapped.modules)})" if wrapped is not None and wrapped.modules else ""
            name = names.get((code.path, code.line), code.name)
            key = (f"{places.show(code.path)}:{code.line}", f"{name}{modules}")
            seconds[key] += cost.seconds
            compilations[key] += cost.compilations
            met.setdefault(key, {})[entry.label] = None
    return tuple(
        FrameTime(*key, round(total, 3), compilations[key], tuple(met[key]))
        for key, total in sorted(seconds.items(), key=lambda item: -item[1])
    )


def notes(every: Sequence[Ran], times: Sequence[FrameTime]) -> tuple[str, ...]:
    """The lines, in the order of the report."""
    return (
        *_uneven(every),
        *_seconds(every, times),
        *_slowest(times, every),
        *_splits(every),
        *_restarts(every),
        *_caches(every),
        *_problems(every),
    )


def read_files(every: Sequence[Ran]) -> Iterator[str]:
    """How much there was to read."""
    tallies = [entry.process.tally for entry in every]
    records = plural(sum(tally.records for tally in tallies), "record")
    yield f"read: {together([entry.label for entry in every])}; {records} in {plural(len(tallies), 'file')}"


def _uneven(every: Sequence[Ran]) -> Iterator[str]:
    for (path, line, _, what), names in uneven_breaks(every).items():
        yield f"ranks differ: {path}:{line} breaks ({what}) on {together(names)} only"
    for (where, number, cause), names in uneven_recompiles(every).items():
        yield f"ranks differ: {where}:{number} is compiled again (because of {cause}) on {together(names)} only"
    every = ranked(every)
    graphs = Counter(entry.run.graphs for entry in every)
    if len(graphs) > 1:
        counts = (
            f"{plural(count, 'graph')} on {together([e.label for e in every if e.run.graphs == count])}"
            for count in sorted(graphs)
        )
        yield f"ranks differ: {', '.join(counts)}"


def _seconds(every: Sequence[Ran], times: Sequence[FrameTime]) -> Iterator[str]:
    if len(every) == 1:
        # The time of the only function is all of it.
        if len(times) > 1:
            yield f"compile time: {sum(time.seconds for time in times):.1f} s"
        return
    totals = sorted((sum(cost.seconds for cost in e.process.costs.values()), e.label) for e in every)
    if len(every) <= _NAMED:
        order = {entry.label: number for number, entry in enumerate(every)}
        shown = ", ".join(f"{seconds:.1f} s on {name}" for seconds, name in sorted(totals, key=lambda t: order[t[1]]))
    else:
        (least, fast), (most, slow) = totals[0], totals[-1]
        shown = f"from {least:.1f} s on {fast} to {most:.1f} s on {slow}"
    yield f"compile time: {shown}"


def _slowest(times: Sequence[FrameTime], every: Sequence[Ran]) -> Iterator[str]:
    for time in times[:SLOWEST]:
        if time.seconds < _BRIEF:
            return
        where = f" on {together(time.processes)}" if len(every) > 1 else ""
        where += " together" if len(time.processes) > 1 else ""
        yield (
            f"compile time of {without_site(time.place)} {time.function}: {time.seconds:.1f} s in "
            f"{plural(time.compilations, 'compilation')}{where}"
        )


def _splits(every: Sequence[Ran]) -> Iterator[str]:
    split = [entry for entry in every if entry.process.split_graphs]
    if split:
        counts = Counter((e.process.split_graphs, e.process.split_parts) for e in split)
        shown = "; ".join(
            f"{plural(graphs, 'graph')} into {parts} on "
            + together([e.label for e in split if (e.process.split_graphs, e.process.split_parts) == (graphs, parts)])
            for graphs, parts in counts
        )
        yield f"DDPOptimizer split {shown}, at the borders of gradient buckets; this is by design, and no graph break"


def _restarts(every: Sequence[Ran]) -> Iterator[str]:
    restarts = sum(cost.restarts for entry in every for cost in entry.process.costs.values())
    if restarts:
        yield f"tracing started again {plural(restarts, 'time')}: Dynamo does so at a break, to end the graph before it"


def _caches(every: Sequence[Ran]) -> Iterator[str]:
    caches: Counter[str] = Counter()
    for entry in every:
        caches.update(entry.process.caches.counts)
    if caches:
        yield "caches: " + ", ".join(f"{name}: {count:,}" for name, count in sorted(caches.items()))


def _problems(every: Sequence[Ran]) -> Iterator[str]:
    for entry in every:
        name, tally = entry.process.file.path.name, entry.process.tally
        if tally.cut:
            yield f"{name} ends inside a record: the job was killed, or is still running"
        if tally.damaged:
            yield f"{name} could be read up to line {tally.lines:,} only: {tally.damaged}"
        if tally.malformed:
            yield f"{name}: {plural(tally.malformed, 'malformed record')} passed over"
        if tally.unknown:
            kinds = ", ".join(f"{kind} ({count:,})" for kind, count in tally.unknown.most_common(5))
            yield f"{name}: {plural(tally.unknown.total(), 'record')} of unknown kind passed over: {kinds}"
        if entry.process.dropped:
            yield f"{name}: {plural(entry.process.dropped, 'break record')} more than are kept, each with another text"
