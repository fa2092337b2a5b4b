"""The rules as SARIF describes them, from the rule files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphdoctor.lint import catalog
from graphdoctor.model.findings import Finding
from graphdoctor.report.escaping import one_line
from graphdoctor.report.explain.rules import RUN_ONLY
from graphdoctor.report.gfm import escape, fence
from graphdoctor.report.wording import gb_link
from graphdoctor.static.rule import Rule

Json = dict[str, Any]

#: What SARIF calls severities.
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def descriptors(findings: Iterable[Finding]) -> list[Json]:
    """A descriptor for each rule that occurs, ordered by code; what is not in the catalogue, by its first finding."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.rule, finding)
    known = {rule.code: rule for rule in catalog.rules()}
    return [_rule(known[code]) if code in known else _unknown(first[code]) for code in sorted(first)]


def _rule(rule: Rule) -> Json:
    breaks = [f"Breaks:\n\n{fence(example.strip(), 'python')}" for example in rule.breaks]
    clean = [f"Does not break:\n\n{fence(example.strip(), 'python')}" for example in rule.clean]
    links = [f"[{gb_id}]({gb_link(gb_id)})" for gb_id in rule.gb_ids]
    parts = [rule.summary, rule.what, f"**Why:** {rule.why}", f"**Fix:** {rule.how}", *breaks[:1], *clean[:1], *links]
    return {
        "id": rule.code,
        "name": _pascal(rule.name),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": one_line(rule.what)},
        "help": {
            "text": f"{rule.what}\n\nWhy: {rule.why}\n\nFix: {rule.how}",
            "markdown": "\n\n".join(parts),
        },
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": ["torch.compile", rule.name], "problem.severity": _problem(rule.severity)},
    }


def _unknown(finding: Finding) -> Json:
    """GD000, which is no rule, or a rule of the project."""
    run_only = "A graph break that happened in the run and that no rule predicted."
    text = run_only if finding.rule == RUN_ONLY else one_line(finding.why) or finding.name
    return {
        "id": finding.rule,
        "name": _pascal(finding.name),
        "shortDescription": {"text": text},
        "help": {"text": text, "markdown": escape(text, 1000)},
        "defaultConfiguration": {"level": LEVELS[finding.severity]},
        "properties": {"tags": ["torch.compile"], "problem.severity": _problem(finding.severity)},
    }


def _problem(severity: str) -> str:
    return "recommendation" if severity == "info" else severity


def _pascal(name: str) -> str:
    """``print-in-graph`` as SARIF names rules: ``PrintInGraph``."""
    return "".join(part.capitalize() for part in name.split("-"))
