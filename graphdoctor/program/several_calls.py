"""The proofs of a program's fixes on several of its saved calls -> one: what holds on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphdoctor.fixes.verification.grading import NOT_RUN
from graphdoctor.fixes.verification.verify import Verified
from graphdoctor.model.findings import Finding, Grade
from graphdoctor.model.labels import Label, label
from graphdoctor.model.runs import DynamicRun, Numerics, Verification
from graphdoctor.program.samples import Saved

#: The less sure ones first.
_LABELS: tuple[Label, ...] = ("refused", "unsafe", "manual", "verified", "safe")
_GRADES: tuple[Grade, ...] = ("none", "setup-required", "general")


@dataclass(frozen=True)
class OnCall:
    """The result for one saved call: the fingerprints of the findings that broke in it, and the runs without fixes."""

    call: Saved
    result: Verified
    broke: frozenset[str]
    runs: tuple[DynamicRun, ...]


def together(proofs: Sequence[OnCall]) -> Verified:
    """The result for all calls: each has the same findings in the same order, without a fix where it was not tried."""
    if len(proofs) == 1:
        return proofs[0].result
    each = zip(*(proof.result.findings for proof in proofs), strict=True)
    findings = tuple(map(_graded, each))
    passed = frozenset[str]().union(*(proof.result.passed for proof in proofs))
    return Verified(_verification(findings, proofs), findings, passed.difference(*(proof.broke for proof in proofs)))


def graded(findings: Sequence[Finding], result: Verified) -> list[Finding]:
    """``findings`` with the grades of their fixes in ``result``; a fix that was not tried stays as it is."""
    pairs = zip(findings, result.findings, strict=True)
    return [replace(found, fix=proved.fix or found.fix) for found, proved in pairs]


def _graded(results: Sequence[Finding]) -> Finding:
    """One finding with the worst of its grades on the calls that reach it."""
    tried = [found for found in results if found.fix is not None]
    reached = [found for found in tried if found.fix and NOT_RUN not in found.fix.doubts]
    return min(reached or tried or results, key=lambda found: _LABELS.index(label(found.fix)) if found.fix else 0)


def _verification(findings: Sequence[Finding], proofs: Sequence[OnCall]) -> Verification:
    each = [proof.result.verification for proof in proofs]
    refused = {found.fingerprint for found in findings if found.fix and label(found.fix) == "refused"}
    applied = dict.fromkeys(name for one in each for name in one.fixes if name not in refused)
    passes = [one.fullgraph_passes for one in each]
    return Verification(
        fixes=tuple(applied),
        graphs=sum(one.graphs for one in each),
        breaks=sum(one.breaks for one in each),
        fullgraph_passes=_all(passes),
        numerics=_numerics([one.numerics for one in each]),
        grade=min((one.grade for one in each), key=_GRADES.index),
        detail=" ".join(f"{p.call.name}: {p.result.verification.detail}" for p in proofs),
        dropped=tuple({d.fix: d for one in each for d in one.dropped if d.fix in refused}.values()),
    )


def _all(answers: Sequence[bool | None]) -> bool | None:
    """False where one is, None where one is not known."""
    return False if False in answers else None if None in answers else True


def _numerics(found: Sequence[Numerics | None]) -> Numerics | None:
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    return Numerics(
        equal=_all([one.equal for one in known]),
        max_abs_diff=max((one.max_abs_diff for one in known if one.max_abs_diff is not None), default=None),
        tolerance=known[0].tolerance,
        detail=" ".join(filter(None, (one.detail for one in known))),
        mutated=tuple(dict.fromkeys(name for one in known for name in one.mutated)),
        diverges=next((one.diverges for one in known if one.diverges is not None), None),
    )
