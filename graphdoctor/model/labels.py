"""What a fix may be called, and which fixes may be written: the one place that decides. See docs/fixes.md."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Literal

from graphdoctor.model.findings import Finding, Fix, Owner

#: "safe" is proved from the source, "verified" was run and found identical, "unsafe" may change behaviour. A run showed
#: of a "refused" fix that it is wrong or does not help; a "manual" one has no edits.
Label = Literal["safe", "verified", "unsafe", "refused", "manual"]

#: How a note begins that says why no run verified the fixes.
NOT_VERIFIED = "fixes not verified: "
#: How a sentence on the lines begins that break where the fixes removed the breaks before them.
BREAKS_NEXT = "With the fixes, the code breaks next at "


def label(fix: Fix) -> Label:
    """The label of ``fix``: what is known from the source, and what verification saw."""
    if fix.safety == "manual":
        return "manual"
    if fix.grade == "none":
        return "refused"
    if fix.safety == "safe":
        return "safe"
    return "verified" if fix.verified else "unsafe"


def explanation(fix: Fix) -> str:
    """Sentences: what the fix does, what verification saw of it, and why it is not verified."""
    return " ".join(filter(None, [fix.reason, fix.detail, not_verified(fix)]))


def not_verified(fix: Fix) -> str:
    """A sentence on why a fix that was tried is not verified, or nothing."""
    return f"Not verified: {fix.doubts}." if fix.doubts else ""


def ran_in_part(fix: Fix) -> bool:
    """Whether some of what ``fix`` changes did not run, or only with one outcome of its test."""
    return any(clause.endswith(" did not run") or " was always " in clause for clause in fix.doubts.split("; "))


def sets_for_process(fix: Fix) -> bool:
    """Whether ``fix`` changes no code but a setting of Dynamo, which then holds for the whole process."""
    return bool(setting_of(fix))


def setting_of(fix: Fix) -> str:
    """The line that makes the setting of Dynamo which is all that ``fix`` changes; empty where it changes code."""
    lines = (line.strip() for edit in fix.edits for line in edit.text.splitlines())
    return next((line for line in lines if line.startswith("torch._dynamo.config.")), "")


def only_in_eager(fix: Fix) -> bool:
    """Whether ``fix`` leaves out under compile what eager code goes on to do, such as printing."""
    return any("not torch.compiler.is_compiling()" in edit.text for edit in fix.edits)


def is_offered(finding: Finding, owner: Owner | None = "own") -> bool:
    """Whether there is a fix that could be written, with or without ``--unsafe-fixes``.

    Not where the run refuted the finding or the fix, and only in code of ``owner`` (None: in all code).
    """
    if finding.fix is None or finding.status == "refuted" or owner not in (None, finding.owner):
        return False
    return label(finding.fix) in ("safe", "verified", "unsafe")


def needs_unsafe(findings: Iterable[Finding], tried: Container[str]) -> bool:
    """Whether ``--unsafe-fixes`` is needed to write the fixes that a run has ``tried``, given by their fingerprints."""
    chosen = (finding for finding in findings if finding.fingerprint in tried and is_offered(finding))
    return any(not may_be_written(finding, unsafe=False) for finding in chosen)


def may_be_written(finding: Finding, unsafe: bool, owner: Owner | None = "own") -> bool:
    """Whether the fix of ``finding`` is written: a safe or a verified one; with ``unsafe`` any that is offered."""
    if finding.fix is None or not is_offered(finding, owner):
        return False
    return unsafe or label(finding.fix) != "unsafe"


def needs_advice(finding: Finding) -> bool:
    """Whether the suggestion of the rule is to be weighed: against no fix, one that nobody tried, or a mere setting."""
    fix = finding.fix
    if fix is None or not is_offered(finding, owner=None):
        return True
    return label(fix) == "unsafe" and (not fix.doubts or sets_for_process(fix))
