"""The order in which findings are worth fixing."""

from __future__ import annotations

from collections.abc import Iterable

from graphdoctor.diagnosis.roots import follows
from graphdoctor.model.findings import Finding, Location

_STATUS = {"confirmed": 0, "dynamic-only": 0, "static-only": 1, "not-reached": 2, "refuted": 3}
_OWNER = {"own": 0, "third-party": 1, "torch": 2}
_SEVERITY = {"error": 0, "warning": 1, "info": 2}
_CONFIDENCE = {"certain": 0, "likely": 1, "possible": 2}


def rank(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Breaks that were seen come first: those in own code, causes, whole frames, many events. Predicted ones follow,
    the surest first.
    """
    return tuple(sorted(findings, key=_key))


def _key(finding: Finding) -> tuple[int, int, bool, bool, int, int, int, Location, str]:
    seen = _STATUS[finding.status] == 0
    return (
        _STATUS[finding.status],
        _OWNER[finding.owner],
        follows(finding),
        not (seen and finding.whole_frame),
        -finding.events if seen else 0,
        _SEVERITY[finding.severity],
        _CONFIDENCE[finding.confidence],
        finding.location,
        finding.rule,
    )
