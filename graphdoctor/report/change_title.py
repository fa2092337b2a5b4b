"""What a change does to the graph breaks, in one line: the title of a pull request's comment, and of its page."""

from __future__ import annotations

from graphdoctor.diagnosis.compare import new_findings
from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.wording import plural


def change_title(diagnosis: Diagnosis) -> str:
    """``2 new graph breaks, 1 fixed``; empty where nothing was compared."""
    comparison = diagnosis.comparison
    if comparison is None:
        return ""
    new = new_findings(diagnosis)
    breaks = sum(finding.severity == "error" and bool(finding.gb_ids) for finding in new)
    text = plural(breaks, "new graph break") if breaks else "No new graph breaks"
    if len(new) > breaks:
        text += f", {plural(len(new) - breaks, 'other new finding')}"
    return text + (f", {len(comparison.fixed):,} fixed" if comparison.fixed else "")
