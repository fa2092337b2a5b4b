"""What the findings of the HTML report can be filtered by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graphdoctor.model.findings import Comparison, Finding
from graphdoctor.report import wording


@dataclass(frozen=True)
class Chip:
    """One value to filter by, and how many findings have it."""

    value: str
    label: str
    count: int


@dataclass(frozen=True)
class Group:
    """The values of one property. ``key`` is the name of its data attribute in the page and of its part of the URL."""

    key: str
    title: str
    chips: tuple[Chip, ...]


def change(finding: Finding, comparison: Comparison | None) -> str:
    """``new``, ``unchanged`` or ``not-compared``; empty where the scan has no base."""
    if comparison is None:
        return ""
    if finding.fingerprint in comparison.new:
        return "new"
    return "unchanged" if finding.fingerprint in comparison.unchanged else "not-compared"


def groups(findings: Iterable[Finding], comparison: Comparison | None) -> tuple[Group, ...]:
    """The properties in which ``findings`` differ; a property that all of them share is left out."""
    shown = tuple(findings)
    changes = sorted((change(f, comparison) for f in shown), key=lambda value: value != "new")
    names = {finding.rule: f"{finding.rule} {finding.name}" for finding in shown}
    every = (
        _group("change", "Change", {"not-compared": "not compared"}, changes),
        _group("severity", "Severity", wording.SEVERITIES, [f.severity for f in shown]),
        _group("status", "Status", wording.STATUS_LABELS, [f.status for f in shown]),
        _group("owner", "Code", wording.OWNERS, [f.owner for f in shown]),
        _group("rule", "Rule", names, sorted(f.rule for f in shown)),
    )
    return tuple(group for group in every if len(group.chips) > 1)


def _group(key: str, title: str, labels: Mapping[str, str], values: Iterable[str]) -> Group:
    """The values in order of first occurrence, which is that of importance."""
    counts = Counter(values)
    return Group(key, title, tuple(Chip(value, labels.get(value, value), count) for value, count in counts.items()))
