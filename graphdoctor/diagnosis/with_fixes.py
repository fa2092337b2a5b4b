"""What a run of the code with its fixes shows of the findings that the run of the original did not judge. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from graphdoctor.diagnosis.join import is_usage
from graphdoctor.model.consequence import PASSES
from graphdoctor.model.findings import Finding


def with_fixes(findings: Iterable[Finding], passed: Collection[str], varying: Collection[str]) -> tuple[Finding, ...]:
    """``findings``, refuted where they are ``passed``: given by their fingerprints, these ran there and nothing broke.

    The verdict of a run of the original stands. No run on one input refutes the rules ``varying``.
    """
    return tuple(
        replace(f, status="refuted", severity="info", consequence=PASSES)
        if f.fingerprint in passed and _is_open(f) and f.rule not in varying
        else f
        for f in findings
    )


def _is_open(finding: Finding) -> bool:
    """Whether ``finding`` is about a graph break, and no run has judged it."""
    return finding.status in ("static-only", "not-reached") and bool(finding.gb_ids) and not is_usage(finding)
