"""``graphdoctor explain`` for the graph-break ids of Dynamo."""

from __future__ import annotations

import re

import pytest

from graphdoctor.breaks import registry
from graphdoctor.lint.catalog import rules
from graphdoctor.report.explain.breaks import page
from graphdoctor.report.explain.families import FAMILIES, OTHER, family
from graphdoctor.report.sections import COLUMNS

KNOWN = registry.load()


def sections(text: str) -> dict[str, str]:
    _, *parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    return {title: body for title, _, body in (part.partition("\n") for part in parts)}


def test_every_id_has_what_why_and_how() -> None:
    for gb_id, entry in KNOWN.items():
        text = page(gb_id, KNOWN, rules())
        shown = sections(text)
        assert text.startswith(f"{gb_id}  {entry.gb_type}\n")
        assert all(shown[title].strip().endswith(".") for title in ("What", "Why", "Fix")), gb_id
        assert shown["Read more"].strip().endswith(f"/gb/{gb_id.lower()}.html")
        words = " ".join(text.split())
        assert all(hint in words for hint in (entry.explanation, *entry.hints)), gb_id
        predicting = {rule.code for rule in rules() if gb_id in rule.gb_ids}
        assert set(re.findall(r"\bGD\d+(?= \[)", shown["Rules that predict it"])) == predicting
        assert all(len(line) <= COLUMNS or "://" in line for line in text.splitlines()[1:]), gb_id


def test_the_commonest_break() -> None:
    shown = sections(page("GB0170", KNOWN, rules()))
    assert shown["What"].strip() == "A branch depends on tensor data, which is not known while tracing."
    assert "without data" in shown["Why"] and "torch.where" in shown["Fix"]
    assert "GD201 [tensor-condition]" in shown["Rules that predict it"]


def test_names_of_the_code_keep_their_small_letter() -> None:
    assert "print() is a side effect" in page("GB0059", KNOWN, rules())


def test_a_kind_is_part_of_the_reason() -> None:
    text = " ".join(page("GB0092", KNOWN, rules()).split())
    assert "Often the consequence of an earlier graph break" in text


def test_an_id_that_is_not_known() -> None:
    with pytest.raises(LookupError, match=r"^GB9999 is none of the \d+ known graph breaks; .*/gb9999\.html$"):
        page("GB9999", KNOWN, rules())


@pytest.mark.parametrize(
    ("gb_id", "why"),
    [
        ("GB0025", "what this call or decorator is for"),
        ("GB0303", "higher-order operator"),
        ("GB0125", "Autograd"),
        ("GB0036", "recorded without data"),
        ("GB0092", "leaves behind"),
        ("GB0142", "context manager"),
        ("GB7906", "for each type"),
        ("GB2861", "follows Python bytecode"),
        ("GB0161", "modules and parameters"),
        ("GB0299", "Python constant"),
        ("GB0003", "rules of its own"),
    ],
)
def test_families(gb_id: str, why: str) -> None:
    assert why in family(KNOWN[gb_id]).why


def test_each_family_has_breaks() -> None:
    assert {family(entry) for entry in KNOWN.values()} == {*FAMILIES, OTHER}
