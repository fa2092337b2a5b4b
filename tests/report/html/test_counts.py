"""The numbers of one page agree with each other and with those of the JSON report."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from html import unescape

import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import ModuleNode, Piece
from graphdoctor.report.ci import sarif
from graphdoctor.report.html import page
from graphdoctor.report.json_format import writer
from graphdoctor.report.markdown import document
from graphdoctor.report.text import concise, terminal
from graphdoctor.report.unchecked import unchecked


def _text(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


@pytest.fixture(scope="module")
def measured(rich: Diagnosis) -> Diagnosis:
    """With a tree of modules, and the order of graphs and breaks."""
    assert rich.dynamic is not None
    nodes = (
        ModuleNode("", "Net", "partly", 60, 0.834, 3, 1),
        ModuleNode("first", "Linear", "compiled", 40, 1.0, 0, 0),
        ModuleNode("second", "Head", "eager", 20, 0.0, 2, 0),
    )
    pieces = (*(piece for n in range(3) for piece in (Piece(operators=n + 1), Piece(break_at=n))), Piece(operators=9))
    run = replace(rich.dynamic[0], modules=nodes, pieces=pieces)
    return replace(rich, dynamic=(run, *rich.dynamic[1:]))


def test_every_count_is_that_of_the_json(measured: Diagnosis) -> None:
    shown, data = page.render(measured), json.loads(writer.render(measured))
    run, summary, after = data["dynamic"][0], data["summary"], data["verification"]
    tiles = {
        _text(label): _text(value)
        for label, value in re.findall(
            r'<span class="label">(.*?)</span>\s*<span class="value[^>]*>(.*?)</span>\n', shown
        )
    }
    assert tiles["graph breaks"] == f"{summary['breaks']} → with the fixes: {after['breaks']}"
    assert tiles["graphs"] == f"{summary['graphs']} → with the fixes: {after['graphs']}"
    assert tiles["fullgraph=True"] == "fails → with the fixes: passes"
    assert tiles["recompile causes"] == str(len(run["recompiles"]))
    assert tiles["findings"] == str(len(data["findings"])) == str(shown.count('<details class="finding'))
    severities = Counter(finding["severity"] for finding in data["findings"])
    assert f"{severities['error']} errors, {severities['warning']} warnings, {severities['info']} note" in _text(shown)
    assert (severities["error"], severities["warning"]) == (summary["errors"], summary["warnings"])


def test_the_pictures_show_as_many_graphs_and_breaks_as_the_numbers_say(measured: Diagnosis) -> None:
    shown, data = page.render(measured), json.loads(writer.render(measured))
    run, after = data["dynamic"][0], data["verification"]
    drawings = re.findall(r'<svg class="(?:wide|narrow)".*?</svg>', shown, re.DOTALL)
    counts = [(drawn.count('<rect class="graph"'), drawn.count('<circle class="cut"')) for drawn in drawings]
    before = (run["graphs"], len(run["breaks"]))
    assert counts == [before, before, (after["graphs"], after["breaks"]), (after["graphs"], after["breaks"])]
    assert shown.count('<li value="') == len(run["breaks"]) == data["summary"]["breaks"]
    rows = re.findall(r'<tr>\s*<th scope="row" class="level-\d">(.*?)</tr>', shown, re.DOTALL)
    tree = [(node["operators"], node["breaks"]) for node in run["modules"]]
    assert [tuple(map(int, re.findall(r'<span class="figure(?: bad)?">(\d+)</span>', row)[-2:])) for row in rows] == [
        pair if not node["compilations"] else (pair[1], node["compilations"])
        for pair, node in zip(tree, run["modules"], strict=True)
    ]
    # Operators are counted in one way only.
    assert not re.search(rf"\b{run['operators']} operators\b", _text(shown))


def test_text_markdown_and_sarif_count_as_the_json_does(measured: Diagnosis) -> None:
    data = json.loads(writer.render(measured))
    summary, after, run = data["summary"], data["verification"], data["dynamic"][0]
    # What the run refuted is listed by the page and Markdown's details, but not by the rest.
    listed = [finding for finding in data["findings"] if finding["status"] != "refuted"]
    severities = Counter(finding["severity"] for finding in listed)
    found = f"Found {severities['error']} errors, {severities['warning']} warning and {severities['info']} note"
    fixes = f"{after['graphs']} graph, {after['breaks']} graph breaks, fullgraph=True passes"
    breaks = f"{run['graphs']} graphs, {len(run['breaks'])} graph breaks (2 in your code)"

    text = " ".join(terminal.render(measured).split())
    assert all(part in text for part in (summary["headline"], found, fixes, breaks))
    assert len(re.findall(r"model\.py:\d+:\d+: (?:error|warning|info) GD", text)) == len(listed)
    for lines in (concise.concise(measured).splitlines(), concise.grouped(measured).splitlines()):
        assert sum(bool(re.search(r"\d+:\d+:? +(?:error|warning|info) GD", line)) for line in lines) == len(listed)
        assert found in lines[-1]

    markdown = document.render(measured)
    values = next(line for line in markdown.splitlines() if line.startswith("| **"))
    tiles = re.findall(r"\*\*(.*?)\*\*", values)
    assert tiles == [
        str(summary["breaks"]), str(summary["graphs"]), "fails", str(len(run["recompiles"])), "equal",
        str(len(data["findings"])),
    ]  # fmt: skip
    assert len(re.findall(r"^\| (?:error|warning|info) \|", markdown, re.MULTILINE)) == len(data["findings"])
    assert fixes in markdown
    # What the page says was not checked stands in the comment, too.
    gaps = unchecked(measured)
    assert gaps and all(gap.replace("_", "&#95;") in markdown for gap in gaps)

    levels = Counter(result["level"] for result in sarif.to_dict(measured)["runs"][0]["results"])
    assert (levels["error"], levels["warning"], levels["note"]) == tuple(
        severities[severity] for severity in ("error", "warning", "info")
    )
