"""The rows of a tree of submodules."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.submodules import ModuleNode, ModuleVerdict, Readiness
from graphdoctor.report.html import page
from graphdoctor.report.module_tree import rows

NODES = (
    ModuleNode("", "Net", "partly", 10, 0.8, 1, 2),
    ModuleNode("encoder", "Encoder", "compiled", 6, 1.0, 0, 0),
    ModuleNode("encoder.layers", "ModuleList", "no-operators", 0, None, 0, 0),
    ModuleNode("encoder.layers.0", "Layer", "compiled", 6, 1.0, 0, 0),
    ModuleNode("encoder_2", "Encoder", "partly", 4, 0.5, 1, 1),
    ModuleNode("encoder_2.layers.0", "Layer", "eager", 2, 0.0, 1, 1),
    ModuleNode("head", "Linear", "not-called", 0, None, 0, 0),
)


def test_what_is_compiled_as_a_whole_is_one_row() -> None:
    assert [(row.label, row.level, row.folded) for row in rows(NODES)] == [
        ("the model", 0, 0),
        ("encoder", 1, 2),
        ("encoder_2", 1, 0),
        ("layers.0", 2, 0),
        ("head", 1, 0),
    ]
    assert rows(()) == ()


def test_a_container_that_is_not_called_is_opened_for_what_runs_in_it() -> None:
    nodes = (
        ModuleNode("", "Net", "partly", 10, 0.8, 1, 2),
        ModuleNode("layers", "ModuleList", "not-called", 0, None, 0, 0),
        ModuleNode("layers.0", "Layer", "eager", 2, 0.0, 1, 1),
        ModuleNode("layers.1", "Layer", "not-called", 0, None, 0, 0),
    )
    assert [(row.label, row.level, row.folded) for row in rows(nodes)] == [
        ("the model", 0, 0),
        ("layers", 1, 1),
        ("0", 2, 0),
    ]


def test_a_container_of_blocks_that_are_compiled_one_by_one_says_so() -> None:
    nodes = (
        ModuleNode("", "Net", "partly", 10, 0.8, 1, 1),
        ModuleNode("experts", "ModuleList", "compiled", 6, 1.0, 0, 0),
        ModuleNode("experts.0", "Expert", "compiled", 3, 1.0, 0, 2),
        ModuleNode("head", "Linear", "compiled", 2, 1.0, 0, 0),
        ModuleNode("gate", "Linear", "eager", 2, 0.0, 0, 0),
    )
    assert [row.compilations for row in rows(nodes)] == [
        "1",
        "its submodules by themselves",
        "in graphs of other modules",
        "none",
    ]


def test_the_page_has_the_tree_with_shares(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    text = page.render(replace(rich, dynamic=(replace(rich.dynamic[0], modules=NODES),)))
    assert "<code>encoder</code> <small>Encoder, with 2 submodules</small>" in text
    assert '<rect class="part" width="50.0" height="6"/>' in text
    assert '<td data-heading="Compiled">not called</td>' in text
    # A name stays as it is written.
    verdict = ModuleVerdict("head", "Linear", 2, False, "it raises `ValueError`")
    run = replace(rich.dynamic[0], readiness=Readiness((), (verdict,), 1))
    assert "<li>head (Linear) does not compile alone: it raises <code>ValueError</code></li>" in page.render(
        replace(rich, dynamic=(run,))
    )
    assert "modules-title" not in page.render(rich)


def test_what_runs_in_eager_as_a_whole_is_one_row_but_for_what_breaks() -> None:
    nodes = (
        ModuleNode("", "Net", "partly", 10, 0.3, 1, 2),
        ModuleNode("moe", "MoE", "eager", 7, 0.0, 1, 0),
        ModuleNode("moe.experts", "ModuleList", "not-called", 0, None, 0, 0),
        ModuleNode("moe.experts.0", "Linear", "eager", 3, 0.0, 0, 0),
        ModuleNode("moe.experts.1", "Linear", "eager", 3, 0.0, 1, 0),
    )
    assert [(row.label, row.folded) for row in rows(nodes)] == [("the model", 0), ("moe", 2), ("experts.1", 0)]
    assert len(rows(nodes, full=True)) == len(nodes)
