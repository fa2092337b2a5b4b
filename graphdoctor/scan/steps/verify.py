"""Fixes -> their labels, from runs of a copy of the code in which they are applied."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from graphdoctor.diagnosis.with_fixes import with_fixes
from graphdoctor.model.labels import NOT_VERIFIED
from graphdoctor.scan.copies import Copies
from graphdoctor.scan.steps.join import Joined
from graphdoctor.source.files import text_of
from graphdoctor.source.saved_calls import is_saved_call

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding
    from graphdoctor.model.runs import DynamicRun, Verification
    from graphdoctor.scan.plan import VerifyPlan
    from graphdoctor.scan.session import Session
    from graphdoctor.scan.steps.run import Ran


#: Ends that are no fault of the code.
_LIMITS = {
    "timeout": "the run of the original code was stopped at the time limit, which --timeout makes longer",
    "memory": "the run of the original code was stopped at the memory limit; with --shrink it needs less",
}


@dataclass(frozen=True)
class Verified:
    """The findings with the labels of their fixes, and what the runs showed; None where there were none.

    ``passed`` are those at which nothing broke with the fixes, by their fingerprints.
    """

    findings: Sequence[Finding]
    verification: Verification | None = None
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    passed: frozenset[str] = frozenset()

    def joined_again(self, joined: Joined) -> Verified:
        """The same fixes in the findings of ``joined``, with what came after the verdict: breaks once a size varies."""
        fixes = {finding.fingerprint: finding.fix for finding in self.findings}
        again = (replace(f, fix=fixes.get(f.fingerprint, f.fix)) for f in joined.findings)
        return replace(self, findings=with_fixes(again, self.passed, joined.varying))


def verify(plan: VerifyPlan | None, joined: Joined, ran: Ran, session: Session) -> Verified:
    """Run the code with the fixes, where the original ran without an error in eager. Nothing is written."""
    request, runs = ran.request, ran.runs
    if plan is None or request is None or runs is None:
        return Verified(joined.findings)
    from graphdoctor.dynamic.parent.runner import NotStarted
    from graphdoctor.fixes.verification import verify as verification

    started = time.monotonic()
    notes: tuple[str, ...] = ()
    verified: verification.Verified | None = None
    fixable = any(finding.fix is not None and finding.fix.edits for finding in joined.findings)
    if ran.came_to_an_end_in_eager:
        session.steps.run(request.timeout)
        copies = Copies(request, joined.sources.files, session.steps.verifying, session.server)
        texts = joined.sources.texts
        constructs = not is_saved_call(text_of(request.file))
        prove = partial(
            verification.verify, joined.findings, texts, runs, copies, plan.each, request.timeout, constructs
        )
        try:
            verified = session.interrupts.attempt(prove)
        except NotStarted as error:
            notes = (f"{NOT_VERIFIED}{error}",)
        if fixable and verified is None and session.interrupts.requested:
            notes = (f"{NOT_VERIFIED}interrupted",)
    elif fixable:
        notes = (f"{NOT_VERIFIED}{nothing_to_compare(runs)}",)
    seconds = time.monotonic() - started
    if verified is None:
        return Verified(joined.findings, None, notes, seconds)
    findings = with_fixes(verified.findings, verified.passed, joined.varying)
    return Verified(findings, verified.verification, notes, seconds, verified.passed)


def nothing_to_compare(runs: Sequence[DynamicRun]) -> str:
    """Why the ``runs`` of the original, of which one did not come to its end, give nothing to compare with."""
    reasons = (_LIMITS[run.outcome] for run in runs if run.outcome in _LIMITS)
    return next(reasons, "the original code did not run to its end in eager")
