"""Findings as diagnostics, and the text of a rule for the hover."""

from __future__ import annotations

from lsprotocol.types import CodeDescription, Diagnostic, DiagnosticSeverity, Range

from graphdoctor.lsp.positions import Positions
from graphdoctor.model.findings import Finding
from graphdoctor.report import gfm
from graphdoctor.report.excerpt import called_from
from graphdoctor.report.wording import gb_link
from graphdoctor.static.rule import Rule

SOURCE = "graphdoctor"

_SEVERITIES = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "info": DiagnosticSeverity.Information,
}


def diagnostic(finding: Finding, positions: Positions, docs: str | None) -> Diagnostic:
    """``finding`` for the client. ``docs`` is the address of the documentation site."""
    link = page(finding, docs)
    calls = called_from(finding)
    way = f"\ncalled from: {calls}" if calls else ""
    help_ = f"\nhelp: {finding.suggestion}" if finding.suggestion else ""
    return Diagnostic(
        range=span(finding, positions),
        message=finding.message + way + help_,
        severity=_SEVERITIES[finding.severity],
        code=finding.rule,
        code_description=CodeDescription(link) if link else None,
        source=SOURCE,
    )


def span(finding: Finding, positions: Positions) -> Range:
    """The place of ``finding`` for the client."""
    place = finding.location
    return positions.range((place.line, place.column), (place.end_line, place.end_column))


def page(finding: Finding, docs: str | None) -> str | None:
    """Where to read more: the rule's page on the site ``docs``, else PyTorch's page of the first graph break."""
    if docs:
        return f"{docs.rstrip('/')}/rules/{finding.rule}.html"
    return gb_link(finding.gb_ids[0]) if finding.gb_ids else None


def hover_text(rule: Rule) -> str:
    """The documentation of the rule, as Markdown."""
    breaks = " ".join(f"[{gb_id}]({gb_link(gb_id)})" for gb_id in rule.gb_ids)
    example = gfm.fence(rule.breaks[0].strip("\n"), "python")
    parts = (
        f"**{rule.code} {rule.name}** ({rule.severity})",
        rule.summary,
        f"**Why**: {rule.why}",
        f"**Fix**: {rule.how}",
        f"**Breaks**\n\n{example}",
        f"Dynamo's graph breaks: {breaks}" if breaks else "",
    )
    return "\n\n".join(part for part in parts if part)
