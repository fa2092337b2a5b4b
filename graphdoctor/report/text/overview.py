"""The first lines of the report on many models: which of them break, and what removes most of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphdoctor.report.escaping import one_line, width
from graphdoctor.report.overview.affected import overview
from graphdoctor.report.text.look import Look
from graphdoctor.report.text.paint import Paint, hanging, wrapped

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis

#: Findings from which on it is said what to do first.
_MANY = 10
_ACTIONS = 3


def tells_models(shown: Diagnosis) -> bool:
    """Whether the report has such lines."""
    found = overview(shown)
    return found is not None and bool(found.affected)


def models(shown: Diagnosis, look: Look) -> Iterator[str]:
    """A line for each model that breaks, and one for all others."""
    found = overview(shown)
    if found is None:
        return
    if found.affected:
        yield Paint(look.color)("Where graphs break, by model:", "bold")
    numbers = max((len(row.counted) for row in found.affected), default=0)
    names = max((width(row.region.name) for row in found.affected), default=0)
    for row in found.affected:
        region = row.region
        lead = f"  {row.counted:>{numbers}}  {region.name}{' ' * (names - width(region.name))}  "
        place = one_line(f"{region.path}:{region.line}")
        if width(lead + place) < look.width:
            yield from wrapped(f"{place}; {row.remark}" if row.remark else place, lead, width(lead), look.width)
            continue
        # A path that is broken between two lines cannot be opened from the terminal.
        yield lead + place
        yield from wrapped(row.remark, " " * width(lead), width(lead), look.width) if row.remark else ()
    if found.more:
        yield f"  and {found.more} more"
    yield from wrapped(found.note, "", 0, look.width) if found.note else ()


def first(shown: Diagnosis, look: Look) -> Iterator[str]:
    """What to do first, where the source shows many findings."""
    if shown.dynamic is not None or len(shown.findings) <= _MANY:
        return
    from graphdoctor.report.first_actions import first_actions

    yield Paint(look.color)("Do these first:", "bold")
    for number, action in enumerate(first_actions(shown, _ACTIONS), 1):
        yield from hanging(f"{number}. {action.title} ({action.effect}; {action.place})", 5, look.width, 2)
