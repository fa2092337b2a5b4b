"""Fixes that overlap -> one change each, where the fixes that go together leave graph breaks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from graphdoctor.scan.static_pass import static_pass
from graphdoctor.scan.steps.verify import Verified, verify

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding, Fix
    from graphdoctor.scan.plan import Plan
    from graphdoctor.scan.session import Session
    from graphdoctor.scan.steps.join import Joined
    from graphdoctor.scan.steps.run import Ran


def with_composed(plan: Plan, joined: Joined, ran: Ran, session: Session, verified: Verified) -> Verified:
    """``verified``, or what a second verification shows where it does better: of changes that hold several fixes each,
    because alone these overlap.
    """
    shown = verified.verification
    if shown is None or (not shown.breaks and shown.fullgraph_passes) or session.interrupts.requested:
        return verified
    findings = _composed(plan, joined, session)
    if findings is None:
        return verified
    again = verify(plan.verify, replace(joined, findings=findings), ran, session)
    seconds = (verified.seconds or 0.0) + (again.seconds or 0.0)
    better = again.verification
    if better is None:
        return replace(verified, seconds=seconds)
    fewer = (better.breaks, not better.fullgraph_passes) < (shown.breaks, not shown.fullgraph_passes)
    # Behind breaks that are gone, another one may be met.
    return replace(again if fewer or _gone(again) > _gone(verified) else verified, seconds=seconds)


def _gone(verified: Verified) -> set[str]:
    """The fingerprints of the findings that broke in the run, and do not with the fixes."""
    met = (f for f in verified.findings if f.status == "confirmed" and f.fix is not None)
    return {finding.fingerprint for finding in met if finding.fix is not None and finding.fix.grade == "general"}


def _composed(plan: Plan, joined: Joined, session: Session) -> tuple[Finding, ...] | None:
    """The findings with the composed fixes; None where there are none."""
    from graphdoctor.fixes.core.compose import composed, overlapping

    new: dict[str, Fix] = {}
    for group in overlapping(joined.findings):
        path = group[0].location.path

        def analyse(text: str, path: str = path) -> Iterable[Finding]:
            return _findings(plan, joined, path, text, session)

        fix = composed(group, joined.sources.texts[path], analyse) if path in joined.sources.files else None
        new |= {} if fix is None else dict.fromkeys((finding.fingerprint for finding in group), fix)
    return tuple(replace(f, fix=new.get(f.fingerprint, f.fix)) for f in joined.findings) if new else None


def _findings(plan: Plan, joined: Joined, path: str, text: str, session: Session) -> Iterable[Finding]:
    """What the static pass finds where the file at ``path`` has this ``text``."""
    work, file = plan.static.work, joined.sources.files[path]
    # What the run showed is told by the lines of the text that it ran.
    changed = replace(work, unsaved={**work.unsaved, file: text, file.resolve(): text}, facts={})
    active = plan.static.rules.loaded.active
    found = static_pass(changed, lambda: active, None, jobs=1, interrupts=session.interrupts).findings
    return [finding for finding in found if finding.location.path == path]
