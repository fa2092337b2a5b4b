"""A fleet on a terminal: the counts, what got worse, and what has no report."""

from __future__ import annotations

from graphdoctor.model.fleet import Fleet
from graphdoctor.report.measurements import fleet_rows

#: Lines of each list; the page has all of them.
_MOST = 20


def render(fleet: Fleet) -> str:
    """Some lines; the page and the store have the rest."""
    worse = [row for row in fleet.rows if row.trend == "worse"]
    ended = [row for row in fleet.rows if row.result.outcome != "done" and row not in worse]
    lines = [fleet_rows.headline(fleet)]
    for title, rows in (("Worse", worse), ("Without a report", ended)):
        if rows:
            shown = [fleet_rows.line(row) for row in rows[:_MOST]]
            lines += ["", f"{title}:", *(f"  {line.name}: {line.state}; {line.detail}" for line in shown)]
            lines += [f"  and {len(rows) - _MOST} more"] if len(rows) > _MOST else []
    return "\n".join(lines) + "\n"
