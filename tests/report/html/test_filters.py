"""What the findings can be filtered by."""

from __future__ import annotations

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.html.filters import change, groups


def test_values_with_their_labels_and_counts(rich: Diagnosis) -> None:
    found = {group.key: group for group in groups(rich.findings, None)}
    assert list(found) == ["severity", "status", "owner", "rule"]
    assert [(c.value, c.count) for c in found["severity"].chips] == [("error", 3), ("warning", 2), ("info", 1)]
    assert [(c.label, c.count) for c in found["owner"].chips] == [("your code", 5), ("libraries", 1)]
    assert [chip.label for chip in found["rule"].chips][:2] == ["GD000 graph-break", "GD101 print-in-graph"]


def test_what_all_share_is_nothing_to_filter_by(rich: Diagnosis) -> None:
    assert groups(rich.findings[:1], None) == ()


def test_change_against_the_base_with_the_new_first(compared: Diagnosis) -> None:
    assert compared.comparison is not None
    group = groups(compared.findings, compared.comparison)[0]
    assert [(chip.value, chip.count) for chip in group.chips] == [("new", 2), ("unchanged", 4)]
    assert change(compared.comparison.fixed[0], compared.comparison) == "not-compared"
    assert change(compared.findings[0], None) == ""
