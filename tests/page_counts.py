"""Every number that an HTML report shows, beside the one that the JSON report of the same scan has for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import Any

from graphdoctor.report.wording import plural, share

Row = tuple[str, object, object]


def text(markup: str) -> str:
    """``markup`` as it reads."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def counts(page: str, data: dict[str, Any]) -> list[Row]:
    """What is counted, the number of the page, and that of the JSON."""
    runs = [run for run in data["dynamic"] or [] if run["outcome"] == "ok"]
    return [
        *_tiles(page, data, runs),
        *_findings(page, data),
        *_strip(page, data, runs),
        *_modules(page, runs),
        *_recompiles(page, data, runs),
        *_runs(page, data, runs),
        *_source(page),
        *_sentences(page, data),
    ]


def _all(pattern: str, markup: str) -> list[Any]:
    return re.findall(pattern, markup, re.DOTALL)


def _section(page: str, name: str) -> str:
    return "".join(_all(rf'<section id="{name}".*?</section>', page))


def _title(run: dict[str, Any]) -> str:
    modes = " and ".join(mode for mode in run["modes"] if mode != "unknown")
    return f"{run['target']}{f', {modes} mode' if modes else ''}, on {run['device']}"


def _alike(runs: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    """The first of the runs of one target that have the same ``keys``, with the modes of all of them."""
    groups: dict[str, dict[str, Any]] = {}
    for run in runs:
        key = str([run["target"], run["device"], *(run[name] for name in keys)])
        groups.setdefault(key, {**run, "modes": []})["modes"].append(run["mode"])
    return list(groups.values())


def _tiles(page: str, data: dict[str, Any], runs: list[dict[str, Any]]) -> Iterator[Row]:
    summary = data["summary"]
    rows = _all(
        r'<span class="label">([^<]*)</span>\s*(?:<span class="was">[^<]*</span>\s*)?<span class="value[^>]*>(.*?)</span>\n.*?"detail">(.*?)</span>',
        page,
    )
    tiles = {text(label): (text(value).split(" → ")[0], text(detail)) for label, value, detail in rows}
    after = {text(label): text(value).split("→ ")[1] for label, value, _ in rows if "→" in value}
    severities = Counter(finding["severity"] for finding in data["findings"])
    names = {"error": "error", "warning": "warning", "info": "note"}
    parts = [plural(severities[key], noun) for key, noun in names.items() if severities[key]]
    idle = sum(map(_is_idle, data["findings"]))
    later = ", without effect yet" if idle == summary["fixable"] else f", {idle:,} without effect yet"
    later = later if idle else ""
    parts += [f"{summary['fixable']:,} with a fix{later}"] if summary["fixable"] else []
    yield "findings", tiles["findings"], (f"{len(data['findings']):,}", ", ".join(parts))
    if not runs:
        yield "files", tiles["files"][0], f"{summary['files']:,}"
        return
    own = summary["breaks_own"]
    libraries = f"{own} in your code, {summary['breaks'] - own} in libraries"
    yield "graph breaks", tiles["graph breaks"], (f"{summary['breaks']:,}", libraries)
    shares = [run["compiled_share"] for run in runs if run["compiled_share"] is not None]
    alike = len({(run["graphs"], share(run["compiled_share"])) for run in runs}) == 1
    yield "graphs", tiles["graphs"][0], f"{summary['graphs']:,}"
    if len(shares) == len(runs) and alike:
        yield (
            "compiled share",
            tiles["graphs"][1].removesuffix(" before the fixes"),
            f"{share(min(shares))} of the operators compiled",
        )
    causes = {(each["cause"], each["path"], each["line"]) for run in runs for each in run["recompiles"]}
    most = max((each["compilations"] for run in runs for each in (*run["recompiles"], *run["sweeps"])), default=0)
    again = any(sweep["compilations"] > 1 for run in runs for sweep in run["sweeps"])
    none = "only for sizes that the scan tried" if again else "nothing was compiled again"
    frames = f"up to {plural(most, 'compilation')} of one function" if causes else none
    tried = {run["mode"] for run in runs if run["sweeps"] or run["recompiles"]}
    missing = sorted({run["mode"] for run in runs} - tried) if tried else []
    if missing:
        frames = f"in {' and '.join(sorted(tried))} mode, {frames}; {' and '.join(missing)} mode not tried"
    # A job that was watched made calls of its own, and has no sweeps.
    if tried or any(run["fullgraph"]["passes"] is None and run["fullgraph"]["error"] for run in runs):
        yield "recompile causes", tiles["recompile causes"], (str(len(causes)), frames)
    else:
        yield "recompile causes not tried", "recompile causes" in tiles, False
    result = data["verification"]
    if after:
        yield "breaks with the fixes", after.get("graph breaks", str(summary["breaks"])), str(result["breaks"])
        yield "graphs with the fixes", after.get("graphs", str(summary["graphs"])), str(result["graphs"])


def _is_idle(finding: dict[str, Any]) -> bool:
    fix = finding["fix"]
    offered = fix and fix["label"] in ("safe", "verified", "unsafe") and finding["status"] != "refuted"
    waits = "once compiling gets past line" in finding["message"] and fix and fix["grade"] == "not-verified"
    return bool(offered and finding["owner"] == "own" and (waits or fix["grade"] == "no-effect"))


def _findings(page: str, data: dict[str, Any]) -> Iterator[Row]:
    cards = _all(r'<details class="finding(.*?)</details>', page)
    yield "cards", len(cards), len(data["findings"])
    shown = _all(r'data-total="(\d+)"', page)
    yield "total of the filters", shown, [str(len(cards))] if cards else []
    for key, field in (("severity", "severity"), ("status", "status"), ("owner", "owner")):
        chips = _all(rf'data-key="{key}" data-value="([^"]+)">.*?<b>(\d+)</b>', page)
        if chips:
            found = Counter(finding[field] for finding in data["findings"])
            yield f"chips of {key}", {value: int(count) for value, count in chips}, dict(found)
    rules = {value: int(count) for value, count in _all(r'<option value="(GD\d+)">[^<]*\((\d+)\)', page)}
    if rules:
        yield "rules", rules, dict(Counter(finding["rule"] for finding in data["findings"]))


def _strip(page: str, data: dict[str, Any], runs: list[dict[str, Any]]) -> Iterator[Row]:
    section = _section(page, "forward")
    lanes = _all(r'<p class="lane">(.*?)</p>\s*<svg class="wide".*?aria-label="(.*?)">(.*?)</svg>', section)
    if not lanes:
        return
    known = {(run["graphs"], len(run["breaks"]), share(run["compiled_share"])) for run in runs}
    for title, description, drawing in lanes:
        graphs, breaks = map(int, _all(r"(\d+) graphs?, (\d+) graph breaks?", title)[0])
        yield f"graphs drawn in {title}", drawing.count('<rect class="graph"'), min(graphs, 40)
        yield f"described in {title}", text(description).startswith(text(title)), True
        if "applied to a copy" in title:
            after = data["verification"]
            fixes = int(_all(r"With (\d+) fix", title)[0])
            yield "after the fixes", (fixes, graphs, breaks), (len(after["fixes"]), after["graphs"], after["breaks"])
        else:
            part = _all(r"(\d+ %) of the operators compiled", title)
            yield f"lane {title}", (graphs, breaks, part[0] if part else "unknown") in known, True
    rest = [int(number) for number in _all(r"(\d+) graph breaks? more in the list", section)]
    yield "listed breaks", section.count('<li value="') + sum(rest), data["summary"]["breaks"]


def _modules(page: str, runs: list[dict[str, Any]]) -> Iterator[Row]:
    for fold, run in zip(
        _all(r"<details.*?</details>", _section(page, "modules")),
        _alike([run for run in runs if run["modules"]], "modules", "compiled_share"),
        strict=False,
    ):
        nodes = {node["name"] or "the model": node for node in run["modules"]}
        head = text(_all(r"<summary>(.*?)</summary>", fold)[0])
        if run["compiled_share"] is not None:
            yield "modules of", head, f"{_title(run)}: {share(run['compiled_share'])} of the operators compiled"
        pattern = r"<title>(.*?) \(\S+\): (\d+ %|unknown) of ([\d,]+) operators? compiled(?:, ([\d,]+) graph breaks?)?</title>"
        for name, part, operators, breaks in _all(pattern, fold):
            node = nodes[unescape(name)]
            expected = (share(node["compiled_share"]), f"{node['operators']:,}", f"{node['breaks']:,}")
            yield f"cell {name}", (part, operators, breaks or "0"), expected
        alone = run["readiness"]["ready"] if run["readiness"] else []
        sizes = {(each["name"], plural(each["operators"], "operator")) for each in alone}
        for named in _all(r"([\w.]+) \(\w+\) with (\d+ operators?)", text(fold)):
            yield f"operators of {named[0]}", named in sizes, True
        path: list[str] = []
        for level, label, row in _all(r'class="level-(\d)"><code>(.*?)</code>(.*?)</tr>', fold):
            path = [*path[: max(int(level) - 1, 0)], *([label] if int(level) else [])]
            node = nodes[".".join(path) or "the model"]
            figures = [figure for figure in _all(r'class="figure[^"]*">(.*?)</span>', row) if "%" not in figure]
            expected_row = [str(node["operators"]), str(node["breaks"])]
            yield f"row {label}", figures, expected_row + ([str(node["compilations"])] if node["compilations"] else [])


def _recompiles(page: str, data: dict[str, Any], runs: list[dict[str, Any]]) -> Iterator[Row]:
    section = _section(page, "recompiles")
    rows = [
        tuple(_all(r'class="figure[^"]*">(?:→ )?(\d+)</span>', row))
        for row in _all(r'data-heading="Compilations">(.*?)</td>', section)
    ]
    every = {
        (each["cause"], each["guard"], each["path"], each["line"]): tuple(
            str(each[key]) for key in ("compilations", "verified_compilations") if each[key] is not None
        )
        for run in data["dynamic"] or []
        for each in run["recompiles"]
    }
    yield "recompiles", sorted(rows), sorted(every.values())
    sweeps = [sweep for run in runs for sweep in run["sweeps"] if sweep["steps"]]
    totals = {
        (sum(step["compilations"] for step in sweep["steps"]), sweep["calls"], sweep["compilations"])
        for sweep in sweeps
    }
    drawn = {tuple(bool(step["compilations"]) for step in sweep["steps"])[:64] for sweep in sweeps}
    pattern = r'class="timeline">\s*<p class="lane">(.*?)</p>(.*?)</svg>\s*<ul>(.*?)</ul>'
    for title, drawing, changes in _all(pattern, section):
        for all_calls, number, more in _all(r"(\d+) compilations? in (\d+) calls?(?:, at most (\d+))?", changes):
            known = {(*total[:2], str(total[2]) if more else "") for total in totals}
            yield "timeline", (int(all_calls), int(number), more) in known, True
        calls = tuple(kind == "compiles" for kind in _all(r'<rect class="(compiles|reuses)"', drawing))
        yield f"calls of {title}", calls in drawn, True


def _runs(page: str, data: dict[str, Any], runs: list[dict[str, Any]]) -> Iterator[Row]:
    appendix = _section(page, "appendix")
    pattern = r'data-heading="Graphs">.*?(\d+)<.*?"Graph breaks">.*?(\d+)<.*?"Compiled">(.*?)</td>'
    shown = _alike(runs, "graphs", "breaks", "compiled_share", "fullgraph", "detail")
    rows = [(graphs, breaks, text(part)) for graphs, breaks, part in _all(pattern, appendix)]
    expected = [(str(run["graphs"]), str(len(run["breaks"])), share(run["compiled_share"])) for run in shown]
    yield "runs", rows, expected
    stacks = [int(number) for number in _all(r"<summary>(\d+) graph breaks? with reasons", appendix)]
    yield "stacks", stacks, [data["summary"]["breaks"]] if data["summary"]["breaks"] else []
    titles = len(_all(r"<h4>", appendix))
    yield "stacks shown", titles, sum(stacks)


def _source(page: str) -> Iterator[Row]:
    for fold in _all(r"<details.*?</details>", _section(page, "source")):
        states = Counter(_all(r'<span class="row(?: i\d)? (compiled|partly|eager|missed)(?: replaced)?">', fold))
        shown = _all(r"(\d+) lines? compiled, (\d+) in part, (\d+) in eager, (\d+) did not run", fold)[0]
        kinds = ("compiled", "partly", "eager", "missed")
        yield "source", tuple(map(int, shown)), tuple(states[kind] for kind in kinds)


def _sentences(page: str, data: dict[str, Any]) -> Iterator[Row]:
    """The headline, the proof, what was not checked and what comes first."""
    summary, findings = data["summary"], data["findings"]
    top = text(_all(r'<div class="verdict">(.*?)<ul class="numbers"', page)[0])
    start, uneven, rest = summary["headline"].partition(summary.get("uneven") or summary["headline"])
    if start or rest:
        # The title is brief about ranks that differ; the first action has the whole sentence.
        yield "headline", top.startswith(start) and rest in top, True
        yield "uneven", uneven[1:] in text(page), True
    else:
        yield "headline", uneven in top, True
    ranks = data["environment"].get("ranks")
    counted = f"From the trace of {ranks}" if ranks else plural(summary["files"], "file")
    yield "files", counted in top, True
    for fixes, graphs, breaks in _all(
        r"(\d+) fix(?:es)?(?: in \d+ changes?)? applied to a copy\D*(\d+) graphs?, (\d+) graph breaks?", top
    ):
        after = data["verification"]
        expected = (len(after["fixes"]), after["graphs"], after["breaks"])
        yield "proof", (int(fixes), int(graphs), int(breaks)), expected
    gaps = text(_section(page, "unchecked"))
    for status, words in (("not-reached", "(?:is|are) on lines"), ("static-only", "(?:is|are) predicted, not")):
        number = sum(finding["status"] == status for finding in findings) if data["dynamic"] else 0
        yield status, sum(map(int, _all(rf"([\d,]+) findings? {words}", gaps))), number
    heads = Counter(_all(r'<dt>Same cause</dt><dd><a href="#(.*?)"', page))
    first = r'class="place" href="#(f-[^"]*)">[^<]*</a>\s*<span class="effect">[^<]*?(\d+) more findings? ha'
    for anchor, others in _all(first, page):
        yield f"findings with the cause of {anchor}", int(others), heads[anchor]
    for _, fixes in _all(r"(\d+) of the (\d+) fixes (?:is|are) safe", top):
        yield "fixes", int(fixes), summary["fixable"]
    if data["comparison"]:
        told = _all(r"Against .*", top)[0]
        for key, words in (
            ("new", r"(\d+) new findings?"),
            ("fixed", r"(\d+) fixed"),
            ("unchanged", r"(\d+) unchanged"),
        ):
            yield key, int((_all(words, told) or [0])[0]), len(data["comparison"][key])
