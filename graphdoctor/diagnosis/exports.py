"""Where ``torch.export`` fails, and the findings there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphdoctor.model.findings import Finding, Location

if TYPE_CHECKING:
    from graphdoctor.diagnosis.unexpected import RuleText
    from graphdoctor.model.export import Exported
    from graphdoctor.model.runs import DynamicRun

#: The finding for a line at which exporting fails and nothing else is found. Named in graphdoctor.scan.ruleset too.
CODE, NAME = "GD001", "export"
_SILENT = frozenset({"refuted", "not-reached"})


def unexpected(
    findings: Iterable[Finding], runs: Iterable[DynamicRun], rules: Mapping[str, RuleText]
) -> tuple[Finding, ...]:
    """A finding for each place of the user's at which exporting fails and that none of ``findings`` holds.

    ``rules`` maps a graph-break id to the rule that alone owns it.
    """
    shown = list(findings)
    found: dict[tuple[str, int], list[Exported]] = {}
    for export in _failures(runs):
        if export.path is not None and export.line is not None and not _at(export, shown):
            found.setdefault((export.path, export.line), []).append(export)
    return tuple(_finding(exports, rules) for exports in found.values())


def with_rules(runs: Sequence[DynamicRun], findings: Sequence[Finding]) -> tuple[DynamicRun, ...]:
    """``runs`` whose failed exports name the finding at their place."""

    def named(export: Exported) -> Exported:
        rules = [finding.rule for finding in _at(export, findings)]
        return replace(export, rule=rules[0]) if export.outcome == "failed" and rules else export

    return tuple(replace(run, export=tuple(map(named, run.export))) for run in runs)


def _failures(runs: Iterable[DynamicRun]) -> list[Exported]:
    return [export for run in runs for export in run.export if export.outcome == "failed"]


def _at(export: Exported, findings: Iterable[Finding]) -> list[Finding]:
    """What is shown at the place where exporting fails, the smallest first."""
    here = [
        finding
        for finding in findings
        if finding.status not in _SILENT
        and finding.location.path == export.path
        and finding.location.line <= (export.line or 0) <= finding.location.end_line
    ]
    return sorted(here, key=lambda finding: finding.location.end_line - finding.location.line)


def _finding(exports: Sequence[Exported], rules: Mapping[str, RuleText]) -> Finding:
    first = exports[0]
    rule = rules.get(first.gb_id or "")
    ways = " and ".join(dict.fromkeys(export.way for export in exports))
    assert first.path is not None
    assert first.line is not None
    return Finding(
        rule=rule.code if rule else CODE,
        name=rule.name if rule else NAME,
        severity="error",
        confidence="certain",
        location=Location(first.path, first.line, 1, first.line, 1),
        function=first.function,
        fact=f"torch.export ({ways}) fails here: {first.error}",
        why=rule.why if rule else "A model that is not exported runs only where Python and its source are.",
        suggestion=rule.suggestion if rule else "",
        status="dynamic-only",
        gb_ids=(first.gb_id,) if first.gb_id else (),
    )
