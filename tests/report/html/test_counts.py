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
from graphdoctor.report.html import page
from graphdoctor.report.json_format import writer


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
