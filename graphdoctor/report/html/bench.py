"""A benchmark as one HTML page in the style of the report, its plots as inline SVG."""

from __future__ import annotations

from graphdoctor.bench.verdict import verdict
from graphdoctor.model.benchmark import Bench
from graphdoctor.report.html.page import asset, environment, policy
from graphdoctor.report.html.pictures.bars import of_bench
from graphdoctor.report.measurements.bench_rows import HEADINGS, caption, device_note, heading, rows


def render(bench: Bench) -> str:
    """The whole page: it makes no request, and is readable without JavaScript and by keyboard."""
    found = verdict(bench)
    assets = {name: asset(name) for name in ("style.css", "bench/bench.css", "theme.js", "bench/bench.js")}
    tone = {True: "good", False: "neutral", None: "bad"}[found.worth]
    return (
        environment()
        .get_template("bench/bench.html")
        .render(
            bench=bench,
            sentence=found.sentence,
            best=found.best,
            tone=tone,
            heading=heading(bench),
            caption=caption(bench),
            device_note=device_note(bench),
            headings=HEADINGS,
            rows=rows(bench),
            plots=of_bench(bench),
            assets=assets,
            policy=policy(
                assets["style.css"] + assets["bench/bench.css"], assets["theme.js"], assets["bench/bench.js"]
            ),
        )
    )
