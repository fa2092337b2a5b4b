"""Break sites: the distinct places at which graphs broke, over all runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphdoctor.breaks.locations import comprehension_lines, without_site
from graphdoctor.breaks.measured_costs import is_rest_alone, site_of
from graphdoctor.model.findings import Caller

if TYPE_CHECKING:
    from graphdoctor.model.findings import Location
    from graphdoctor.model.runs import Break, DynamicRun, Frame


@dataclass(frozen=True)
class Site:
    """One place and cause, seen in one or more runs. ``first`` is the break as the first of them reports it."""

    first: Break
    events: int
    whole_frame: bool
    #: All that was given up is the rest of a function, of which an earlier break left a graph.
    rest: bool
    #: The functions that were given up as a whole because of it, callers first, each at its line on the way to it.
    dropped: tuple[Frame, ...] = ()

    @property
    def is_in_comprehension(self) -> bool:
        """Whether a comprehension alone was given up, and not the function around it."""
        return self.whole_frame and bool(self.dropped) and all(f.is_comprehension for f in self.dropped)


def all_sites(runs: Sequence[DynamicRun]) -> tuple[Site, ...]:
    """The sites of ``runs``, and after them those that only calls with other inputs have."""
    return sites([*runs, *(replace(run, breaks=run.varied_breaks) for run in runs)])


def sites(runs: Sequence[DynamicRun]) -> tuple[Site, ...]:
    """Every distinct (place, graph-break id) of ``runs`` in the order met, with the events of all runs added up.

    Several places of a library may be reached from one line of the user's: each is a site.
    """
    groups: dict[tuple[object, ...], list[Break]] = {}
    for run in runs:
        for brk in run.breaks:
            groups.setdefault(site_of(brk), []).append(brk)
    groups = _with_columns(groups)
    has_graphs = any(run.graphs for run in runs)
    return tuple(
        Site(
            first=same[0],
            events=sum(brk.events for brk in same),
            whole_frame=any(brk.whole_frame for brk in same),
            rest=has_graphs and is_rest_alone(same),
            dropped=tuple(dict.fromkeys(frame for brk in same for frame in brk.dropped)),
        )
        for same in groups.values()
    )


def _with_columns(groups: dict[tuple[object, ...], list[Break]]) -> dict[tuple[object, ...], list[Break]]:
    """``groups``, where breaks without a column join the only place of their line that has the same cause."""
    joined = dict(groups)
    for key, same in groups.items():
        if same[0].column is None:
            others = [k for k, found in joined.items() if k != key and site_of(replace(found[0], column=None)) == key]
            if len(others) == 1:
                joined[others[0]] = [*joined[others[0]], *joined.pop(key)]
    return joined


def dropped_names(found: Iterable[Site]) -> tuple[str, ...]:
    """The functions that were given up as a whole."""
    frames = [frame for s in found for frame in s.dropped]
    # The function around a comprehension has it in it.
    whole = [frame for frame in frames if not frame.is_comprehension]
    return tuple(dict.fromkeys(frame.function for frame in whole or frames))


def called_from(brk: Break, place: Location) -> tuple[Caller, ...]:
    """The calls that led to ``place``, where ``brk`` is or on the way to it, but for those inside torch.

    Empty where it is not on the way.
    """
    here = [n for n, f in enumerate(brk.stack) if f.path == place.path and place.line <= f.line <= place.end_line]
    before = brk.stack[: here[-1]] if here else ()
    # The function around a comprehension is there twice.
    callers = dict.fromkeys(Caller(f.path, f.line, f.function) for f in before if not _is_of_torch(f.path))
    return tuple(caller for caller in callers if not (caller.path == place.path and caller.line == place.line))


def _is_of_torch(path: str) -> bool:
    return without_site(path).startswith("torch/")


def share_comprehension(text: str, brk: Break, place: Location) -> bool:
    """Whether ``place`` lies in the comprehension that ``brk`` left to eager."""
    return brk.path == place.path and any(
        first <= min(brk.line, place.line) and max(brk.line, place.line) <= last
        for first, last in comprehension_lines(text)
    )


def functions_of(brk: Break) -> set[tuple[str, str]]:
    """The functions on the user stack of a break."""
    return {(brk.path, last(brk.function)), *((frame.path, last(frame.function)) for frame in brk.stack)}


def last(qualified: str) -> str:
    """The name without the class around it."""
    return qualified.rpartition(".")[2]
