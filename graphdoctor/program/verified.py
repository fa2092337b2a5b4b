"""Proves the fixes of a program's report on the first call that its recording saved."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphdoctor.dynamic.parent import device_choice, runner
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.fixes.verification.verify import verify
from graphdoctor.model.findings import Diagnosis
from graphdoctor.program.samples import Saved
from graphdoctor.scan.copies import Copies
from graphdoctor.source.files import text_of


def verified(
    diagnosis: Diagnosis, calls: Sequence[Saved], why_none: Sequence[str], timeout: float, progress: runner.Progress
) -> Diagnosis:
    """``diagnosis`` with the grades of its fixes on the first of ``calls``, or with a note with the reason.

    ``why_none`` says why no call was saved.
    """
    if not any(finding.fix and finding.fix.edits for finding in diagnosis.findings):
        return _noted(diagnosis, "--verify: there is no fix to verify")
    if not calls:
        return _noted(diagnosis, f"fixes not verified: {'; '.join(why_none)}")
    saved = calls[0]
    files = _files(diagnosis)
    with tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True) as folder:
        request = RunRequest(
            file=saved.file.resolve(),
            root=Path(diagnosis.root),
            mode="train" if saved.training else "eval",
            timeout=timeout,
            reference=Path(folder),
            recompiles=False,
            deeper=False,
        )
        with runner.Server() as server:
            try:
                request, found = device_choice.run(request, progress, server)
                runs = found.runs
                failed = next((run for run in runs if run.outcome != "ok"), None)
                if failed is not None:
                    reason = failed.detail or failed.outcome
                    return _noted(diagnosis, f"fixes not verified: the saved call of {saved.name} fails: {reason}")
                texts = {path: text_of(file) for path, file in files.items()}
                copies = Copies(request, files, progress, server)
                proof = verify(diagnosis.findings, texts, runs, copies, each=False, seconds=timeout)
            except runner.NotStarted as error:
                return _noted(diagnosis, f"fixes not verified: {error}")
    if proof is None:
        return diagnosis
    notes = [f"fixes verified on the saved first call of {saved.name}"]
    notes += dict.fromkeys(line for run in runs for line in run.left_out)
    return _noted(replace(diagnosis, findings=proof.findings, verification=proof.verification), *notes)


def _files(diagnosis: Diagnosis) -> Mapping[str, Path]:
    """The user's files that findings or their fixes are in, by the paths that are shown."""
    paths = {finding.location.path for finding in diagnosis.findings}
    paths |= {edit.path for finding in diagnosis.findings if finding.fix for edit in finding.fix.edits}
    return {path: Path(diagnosis.root, path) for path in sorted(paths)}


def _noted(diagnosis: Diagnosis, *notes: str) -> Diagnosis:
    return replace(diagnosis, notes=(*diagnosis.notes, *notes))
