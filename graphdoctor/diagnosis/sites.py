"""Break sites: the distinct places at which graphs broke, over all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphdoctor.breaks.consequence import is_rest_alone, site_of

if TYPE_CHECKING:
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
    groups = _without_columns_joined(groups)
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


def _without_columns_joined(groups: dict[tuple[object, ...], list[Break]]) -> dict[tuple[object, ...], list[Break]]:
    """``groups`` with the breaks for which Dynamo gave no column at the only place of their line with that cause."""
    joined = {key: same for key, same in groups.items() if same[0].column is not None}
    for key, same in groups.items():
        others = [other for other in joined if _apart_from_column(joined[other][0]) == _apart_from_column(same[0])]
        if same[0].column is None and len(others) == 1:
            joined[others[0]] = [*joined[others[0]], *same]
        elif same[0].column is None:
            joined[key] = same
    order = [key for key in groups if key in joined]
    return {key: joined[key] for key in order}


def _apart_from_column(brk: Break) -> tuple[object, ...]:
    return site_of(replace(brk, column=None))
