"""The numbers of one page agree with each other and with those of the JSON report."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import Piece
from graphdoctor.model.submodules import ModuleNode
from graphdoctor.report.ci import sarif
from graphdoctor.report.html import page
from graphdoctor.report.json_format import reader, writer
from graphdoctor.report.markdown import document
from graphdoctor.report.text import concise, terminal
from graphdoctor.report.unchecked import unchecked
from tests.page_counts import counts, text


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


@pytest.fixture(scope="module")
def experts() -> Diagnosis:
    """A scan of a mixture of experts, as its JSON report has it."""
    return reader.read((Path(__file__).parent / "data" / "experts.json").read_text())


@pytest.mark.parametrize("name", ["measured", "compared", "experts", "clean"])
def test_every_count_is_that_of_the_json(request: pytest.FixtureRequest, name: str) -> None:
    diagnosis = request.getfixturevalue(name)
    rows = counts(page.render(diagnosis), json.loads(writer.render(diagnosis)))
    assert [row for row in rows if row[1] != row[2]] == []
    assert len(rows) > 10


def test_fixes_that_change_nothing_lead_to_what_does(experts: Diagnosis) -> None:
    top = text(page.render(experts).partition('<ul class="numbers"')[0])
    assert (
        "2 fixes in 1 change applied to a copy leave no fewer graph breaks: 3 graphs, 1 graph break, fullgraph=True fails."
        in top
    )


@pytest.mark.parametrize(
    ("place", "noticed"),
    [
        (("summary", "breaks"), "graph breaks"),
        (("summary", "fixable"), "findings"),
        (("dynamic", 0, "graphs"), "runs"),
        (("dynamic", 0, "modules", 1, "operators"), "cell first"),
        (("dynamic", 0, "modules", 2, "breaks"), "row second"),
        (("dynamic", 0, "recompiles", 0, "compilations"), "recompiles"),
        (("verification", "graphs"), "after the fixes"),
    ],
)
def test_a_count_that_differs_is_noticed(measured: Diagnosis, place: tuple[str | int, ...], noticed: str) -> None:
    data = json.loads(writer.render(measured))
    inner: Any = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] += 1
    rows = counts(page.render(measured), data)
    assert noticed in {what for what, shown, expected in rows if shown != expected}


def test_a_submodule_in_eager_is_in_no_graph(measured: Diagnosis) -> None:
    rows = {row.split(" ")[0]: row for row in map(text, re.findall(r"<tr>.*?</tr>", page.render(measured), re.DOTALL))}
    assert rows["first"].endswith("in graphs of other modules") and rows["second"].endswith("none")


def test_operators_are_counted_in_one_way_only(measured: Diagnosis) -> None:
    assert measured.dynamic is not None
    assert not re.search(rf"\b{measured.dynamic[0].operators} operators\b", text(page.render(measured)))


def test_text_markdown_and_sarif_count_as_the_json_does(measured: Diagnosis) -> None:
    data = json.loads(writer.render(measured))
    summary, after, run = data["summary"], data["verification"], data["dynamic"][0]
    # What the run refuted is listed by the page and Markdown's details, but not by the rest.
    listed = [finding for finding in data["findings"] if finding["status"] != "refuted"]
    severities = Counter(finding["severity"] for finding in listed)
    found = f"Found {severities['error']} errors, {severities['warning']} warning and {severities['info']} note"
    fixes = f"{after['graphs']} graph, {after['breaks']} graph breaks, fullgraph=True passes"
    breaks = f"{run['graphs']} graphs, {len(run['breaks'])} graph breaks (2 in your code)"

    told = " ".join(terminal.render(measured).split())
    assert all(part in told for part in (summary["headline"], found, fixes, breaks))
    assert len(re.findall(r"model\.py:\d+:\d+: (?:error|warning|note) GD", told)) == len(listed)
    for lines in (concise.concise(measured).splitlines(), concise.grouped(measured).splitlines()):
        assert sum(bool(re.search(r"\d+:\d+:? +(?:error|warning|note) GD", line)) for line in lines) == len(listed)
        assert found in lines[-1]

    markdown = document.render(measured)
    values = next(line for line in markdown.splitlines() if line.startswith("| **"))
    tiles = re.findall(r"\*\*(.*?)\*\*", values)
    assert tiles == [
        str(summary["breaks"]), str(summary["graphs"]), "fails", str(len(run["recompiles"])), "equal",
        str(len(data["findings"])),
    ]  # fmt: skip
    assert len(re.findall(r"^\| (?:error|warning|note) \|", markdown, re.MULTILINE)) == len(data["findings"])
    assert fixes in markdown
    # What the page says was not checked stands in the comment, too.
    gaps = unchecked(measured)
    assert gaps and all(gap.replace("_", "&#95;") in markdown for gap in gaps)

    levels = Counter(result["level"] for result in sarif.to_dict(measured)["runs"][0]["results"])
    assert (levels["error"], levels["warning"], levels["note"]) == tuple(
        severities[severity] for severity in ("error", "warning", "info")
    )
