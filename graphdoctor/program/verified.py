"""Proves the fixes of a program's report on the first call that its recording saved."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphdoctor.diagnosis.join import of_varying
from graphdoctor.diagnosis.rank import rank
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.diagnosis.with_fixes import with_fixes
from graphdoctor.dynamic.parent import device_choice, runner
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.fixes.verification.verify import verify
from graphdoctor.lint import catalog
from graphdoctor.model.findings import Diagnosis, Finding, Summary
from graphdoctor.model.runs import DynamicRun
from graphdoctor.program.samples import Saved
from graphdoctor.scan.copies import Copies
from graphdoctor.source.files import text_of


def verified(
    diagnosis: Diagnosis, calls: Sequence[Saved], why_none: Sequence[str], timeout: float, progress: runner.Progress
) -> Diagnosis:
    """``diagnosis`` with the grades of its fixes on one of ``calls``, or with a note with the reason.

    ``why_none`` says why no call was saved.
    """
    if not any(finding.fix and finding.fix.edits for finding in diagnosis.findings):
        return _noted(diagnosis, "--verify: there is no fix to verify")
    if not calls:
        return _noted(diagnosis, f"fixes not verified: {'; '.join(why_none)}")
    files = _files(diagnosis)
    temporary = tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True)
    with temporary as folder, runner.Server() as server:
        try:
            call = _best(diagnosis, calls, timeout, Path(folder), progress, server)
            failed = next((run for run in call.runs if run.outcome != "ok"), None)
            if failed is not None:
                reason = failed.detail or failed.outcome
                return _noted(diagnosis, f"fixes not verified: the saved call of {call.saved.name} fails: {reason}")
            texts = {path: text_of(file) for path, file in files.items()}
            copies = Copies(call.request, files, progress, server)
            here = _as_in(call.runs, diagnosis.findings)
            proof = verify(here, texts, call.runs, copies, each=False, seconds=timeout)
        except runner.NotStarted as error:
            return _noted(diagnosis, f"fixes not verified: {error}")
    if proof is None:
        return diagnosis
    notes = [f"fixes verified on the saved first call of {call.saved.name}"]
    notes += dict.fromkeys(line for run in call.runs for line in run.left_out)
    graded = zip(diagnosis.findings, proof.findings, strict=True)
    findings = [replace(found, fix=proved.fix) for found, proved in graded]
    ranked = rank(with_fixes(findings, proof.passed, of_varying(catalog.rules())))
    proved = replace(diagnosis, findings=ranked, verification=proof.verification, sample=call.saved.as_named)
    return _noted(replace(proved, summary=_counted(proved)), *notes)


def _counted(diagnosis: Diagnosis) -> Summary:
    """The summary, with the findings as the fixes show them. What differs between ranks stays as it is."""
    before, now = diagnosis.summary, summarise(diagnosis.files, diagnosis.findings, diagnosis.dynamic)
    if not before.uneven:
        return now
    return replace(before, errors=now.errors, warnings=now.warnings, fixable=now.fixable)


@dataclass(frozen=True)
class _Call:
    """A saved call that was run."""

    saved: Saved
    request: RunRequest
    runs: tuple[DynamicRun, ...]


def _best(
    diagnosis: Diagnosis,
    calls: Sequence[Saved],
    timeout: float,
    folder: Path,
    progress: runner.Progress,
    server: runner.Server,
) -> _Call:
    """The first of ``calls`` in which most of the findings with a fix break, or the first one where none does.

    Raises NotStarted.
    """
    fixable = [f for f in diagnosis.findings if f.fix is not None and f.fix.edits]
    wanted = sum(_broke(finding) for finding in fixable)
    watched = tuple(str(file.resolve()) for file in _files(diagnosis).values())
    best, most = None, -1
    for number, saved in enumerate(calls):
        request = RunRequest(
            file=saved.file.resolve(),
            root=Path(diagnosis.root),
            watch=watched,
            mode="train" if saved.training else "eval",
            timeout=timeout,
            reference=folder / str(number),
            recompiles=False,
            deeper=False,
        )
        (folder / str(number)).mkdir()
        request, found = device_choice.run(request, progress, server)
        broken = sum(_broke(finding) for finding in _as_in(found.runs, fixable))
        if broken > most:
            best, most = _Call(saved, request, tuple(found.runs)), broken
        if most == wanted:
            break
    assert best is not None, "there is a call"
    return best


def _broke(finding: Finding) -> bool:
    return finding.status in ("confirmed", "dynamic-only")


def _as_in(runs: Sequence[DynamicRun], findings: Sequence[Finding]) -> list[Finding]:
    """``findings`` as these ``runs`` show them: what broke elsewhere in the program need not have run here."""
    places = {(brk.path, brk.line) for run in runs for brk in run.breaks}
    return [
        replace(found, status="static-only") if _broke(found) and not _lines(found) & places else found
        for found in findings
    ]


def _lines(finding: Finding) -> set[tuple[str, int]]:
    place = finding.location
    return {(place.path, line) for line in range(place.line, place.end_line + 1)}


def _files(diagnosis: Diagnosis) -> Mapping[str, Path]:
    """The user's files that findings or their fixes are in, by the paths that are shown."""
    paths = {finding.location.path for finding in diagnosis.findings}
    paths |= {edit.path for finding in diagnosis.findings if finding.fix for edit in finding.fix.edits}
    return {path: Path(diagnosis.root, path) for path in sorted(paths)}


def _noted(diagnosis: Diagnosis, *notes: str) -> Diagnosis:
    return replace(diagnosis, notes=(*diagnosis.notes, *notes))
