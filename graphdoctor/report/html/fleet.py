"""The index page of a fleet: a table that can be sorted and filtered, with links to the report of each target."""

from __future__ import annotations

from graphdoctor.model.fleet import Fleet
from graphdoctor.report.html.page import asset, environment, policy
from graphdoctor.report.measurements import fleet_rows
from graphdoctor.report.numbers import Tone


def render(fleet: Fleet) -> str:
    """The whole page: it makes no request, and is readable without JavaScript."""
    lines = [fleet_rows.line(row) for row in fleet.rows]
    assets = {name: asset(name) for name in ("style.css", "fleet/fleet.css", "theme.js", "fleet/fleet.js")}
    present = {line.state for line in lines}
    return (
        environment()
        .get_template("fleet/fleet.html")
        .render(
            fleet=fleet,
            lines=lines,
            headline=fleet_rows.headline(fleet),
            headings=fleet_rows.HEADINGS,
            states=[state for state in fleet_rows.STATES if state in present],
            trends=[trend for trend in ("worse", "better", "same", "new") if trend in {line.trend for line in lines}],
            tones=_TONES,
            tone=_tone(lines),
            assets=assets,
            policy=policy(
                assets["style.css"] + assets["fleet/fleet.css"], assets["theme.js"], assets["fleet/fleet.js"]
            ),
        )
    )


_TONES: dict[str, Tone] = {"ready": "good", "static-only": "neutral", "worse": "bad", "better": "good"}


def _tone(lines: list[fleet_rows.Line]) -> Tone:
    tones = {_TONES.get(line.state, "bad") for line in lines}
    return "bad" if "bad" in tones else "good" if tones == {"good"} else "neutral"
