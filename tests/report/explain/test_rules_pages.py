"""The texts of ``graphdoctor rules`` and ``graphdoctor explain``, from the rules that ship."""

from __future__ import annotations

import pytest

from graphdoctor.breaks import registry
from graphdoctor.lint.catalog import rules
from graphdoctor.report.explain import rules as pages
from graphdoctor.report.explain.rules import RUN_ONLY, table
from graphdoctor.static.rule import Rule

KNOWN = registry.load()


def page(rule: Rule) -> str:
    return pages.page(rule, KNOWN)


def explain(code: str, catalog: tuple[Rule, ...]) -> str:
    return pages.explain(code, catalog, KNOWN)


@pytest.fixture(scope="module")
def catalog() -> tuple[Rule, ...]:
    return rules()


def test_the_table_has_one_line_a_rule(catalog: tuple[Rule, ...]) -> None:
    head, *lines = table(catalog).splitlines()
    assert head.split() == ["CODE", "NAME", "SEVERITY", "TORCH", "GRAPH", "BREAKS", "SUMMARY"]
    assert [line.split()[:2] for line in lines] == [[rule.code, rule.name] for rule in catalog]
    assert all(line.endswith(rule.summary) for line, rule in zip(lines, catalog, strict=True))


def test_a_page_has_all_that_the_rule_says(catalog: tuple[Rule, ...]) -> None:
    for rule in catalog:
        text = page(rule)
        words = " ".join(text.split())
        assert text.startswith(f"{rule.code} [{rule.name}]  {rule.severity}, torch {rule.torch}\n")
        for part in (rule.what, rule.why, rule.how, *rule.breaks, *rule.clean, *rule.gb_ids):
            assert " ".join(part.split()) in words


def test_examples_keep_their_layout(catalog: tuple[Rule, ...]) -> None:
    example = catalog[0].breaks[0].strip("\n").splitlines()
    assert "\n".join(f"    {line}" if line.strip() else line for line in example) in page(catalog[0])


@pytest.mark.parametrize("spelling", ["GD101", "gd101", "print-in-graph", " Print-In-Graph "])
def test_explain_by_code_and_name(catalog: tuple[Rule, ...], spelling: str) -> None:
    assert explain(spelling, catalog).startswith("GD101 [print-in-graph]")


def test_a_page_has_the_type_of_each_graph_break(catalog: tuple[Rule, ...]) -> None:
    for rule in catalog:
        shown = page(rule).partition("\nGraph breaks\n")[2].splitlines()
        assert [line.partition("  https")[0] for line in shown] == [
            f"  {gb_id}  {KNOWN[gb_id].gb_type}" for gb_id in rule.gb_ids
        ]


def test_a_graph_break_that_no_registry_has_is_shown_without_a_type(catalog: tuple[Rule, ...]) -> None:
    assert f"  {catalog[0].gb_ids[0]}  https" in pages.page(catalog[0], {})


def test_explain_by_graph_break_id_shows_each_rule_that_predicts_it(catalog: tuple[Rule, ...]) -> None:
    owners = [rule for rule in catalog if "GB0170" in rule.gb_ids]
    assert len(owners) > 1
    text = explain("gb0170", catalog)
    assert all(f"{rule.code} [{rule.name}]" in text for rule in owners)


@pytest.mark.parametrize("spelling", [RUN_ONLY, "graph-break"])
def test_explain_a_break_that_only_the_run_saw(catalog: tuple[Rule, ...], spelling: str) -> None:
    assert explain(spelling, catalog).startswith("GD000 [graph-break]")
    assert all(rule.code != RUN_ONLY for rule in catalog)


@pytest.mark.parametrize("spelling", ["GD003", "compile-cache-miss"])
def test_explain_a_missed_cache(catalog: tuple[Rule, ...], spelling: str) -> None:
    assert explain(spelling, catalog).startswith("GD003 [compile-cache-miss]")


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("gb9999", "GB9999 is none of the "),
        ("print-in-grap", "no rule is called 'print-in-grap'; did you mean print-in-graph"),
        ("gd20", "no rule is called 'gd20'; did you mean GD201 or GD202 or GD203?"),
        ("item", "no rule is called 'item'; did you mean item-call"),
        ("x.item()", "no rule is called 'x.item()'; did you mean item-call?"),
        ("wandb.log", "no rule is called 'wandb.log'; did you mean "),
        ("zzz", "no rule is called 'zzz'; `graphdoctor rules` lists all rules"),
    ],
)
def test_unknown_codes(catalog: tuple[Rule, ...], spelling: str, message: str) -> None:
    with pytest.raises(LookupError) as error:
        explain(spelling, catalog)
    assert str(error.value).startswith(message)
