"""Fixes that change a constructor, of which a saved call shows nothing: its objects are as the old one made them."""

from __future__ import annotations

from collections.abc import Mapping

from graphdoctor.breaks.locations import function_at
from graphdoctor.fixes.verification import grading
from graphdoctor.model.findings import Finding

#: The doubt about such a fix.
UNBUILT = "the saved call has its objects as they were, so it does not run the constructor that the fix changes"


def of_constructor(finding: Finding, texts: Mapping[str, str]) -> bool:
    """Whether the fix of ``finding`` changes an ``__init__``; ``texts`` are the sources by path."""
    edits = finding.fix.edits if finding.fix is not None else ()
    return any((function_at(texts.get(e.path, ""), e.start[0]) or "").endswith(".__init__") for e in edits)


def unbuilt(finding: Finding) -> Finding:
    """``finding`` with that doubt, where its fix is not proved from the source."""
    safe = finding.fix is None or finding.fix.safety == "safe"
    return finding if safe else grading.unconfirmed(finding, UNBUILT)
