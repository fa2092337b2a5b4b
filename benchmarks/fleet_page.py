"""How soon the index page of a fleet can be used in Chromium.

    python benchmarks/fleet_page.py [--rows 1000] [--rounds 5]

From the start of loading to the first frame after the script has run, to one after a sort, and to one after a letter
typed into the search field: what a user waits for. Milliseconds by the clock, and those in which the page's own thread
worked, which say more on a busy machine. Needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, sync_playwright

from graphdoctor.model.findings import Summary
from graphdoctor.model.fleet import Fleet, Result, Row
from graphdoctor.report.html import fleet

_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
_FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
_SORT = "(document.querySelectorAll('thead button')[3].click(), 0)"
_TYPE = """((field) => {
  field.value = "7";
  field.dispatchEvent(new Event("input", {bubbles: true}));
})(document.getElementById("text"))"""
_DETAIL = (
    "model.py:{0}: `print(x)` in compiled code: this splits the graph; and {1} more findings of which two are errors"
)


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    text = fleet.render(page(options.rows))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "index.html")
        file.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(_FLAGS))
        rounds = [measured(browser, file) for _ in range(options.rounds)]
        browser.close()
    print(f"{options.rows} rows, {len(text) / 1e3:.0f} kB, load {os.getloadavg()[0]:.1f}")
    for name in rounds[0]:
        clock, busy = (statistics.median(found[name][which] for found in rounds) for which in (0, 1))
        print(f"{name:12}{clock:8.0f} ms {busy:8.0f} ms of work")


def page(count: int) -> Fleet:
    """A fleet of ``count`` targets in all states."""
    rows = []
    for number in range(count):
        ready = number % 3 == 0
        headline = "Ready: 0 graph breaks in your code" if ready else _DETAIL.format(number, number % 7)
        verdict = "ready" if ready else "not-ready"
        summary = Summary(verdict, headline, number % 5, number % 9, number % 4, number % 3, 1, number % 6, 1, 0)
        name = f"hf:{'Some' * (number % 4)}Model{number}ForCausalLM"
        rows.append(
            Row(Result(name, "", "done", number / 7, number, "", summary, "", f"reports/{number}.html"), "same")
        )
    return Fleet("fleet.toml", tuple(rows), (), "last week", {"torch": "2.13.0"})


def measured(browser: Browser, file: Path) -> dict[str, tuple[float, float]]:
    """Milliseconds by the clock, and of work, until the page is there, is sorted, is filtered."""
    context = browser.new_context(offline=True)
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Performance.enable")
    found = {}
    began, work = 0.0, _work(session)
    tab.goto(file.as_uri())
    for name, action in (("interactive", "0"), ("sorted", _SORT), ("filtered", _TYPE)):
        began = 0.0 if name == "interactive" else tab.evaluate("performance.now()")
        tab.evaluate(action)
        ended = tab.evaluate(_FRAME)
        now = _work(session)
        found[name] = ended - began, now - work
        work = now
    context.close()
    return found


def _work(session: CDPSession) -> float:
    metrics = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
    return 1000 * float(metrics["TaskDuration"])


if __name__ == "__main__":
    main()
