"""Proves the fixes of a program's report on the first calls that its recording saved, each on those that reach it."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphdoctor.diagnosis.join import of_varying
from graphdoctor.diagnosis.rank import rank
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.diagnosis.with_fixes import with_fixes
from graphdoctor.dynamic.parent import device_choice, runner
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.fixes.verification.grading import NOT_RUN
from graphdoctor.fixes.verification.verify import verify
from graphdoctor.lint import catalog
from graphdoctor.model.findings import Diagnosis, Finding, Summary
from graphdoctor.model.labels import NOT_VERIFIED
from graphdoctor.model.runs import DynamicRun
from graphdoctor.program.samples import Saved
from graphdoctor.program.several_calls import OnCall, graded, together
from graphdoctor.report.wording import enumerated
from graphdoctor.scan.copies import Copies
from graphdoctor.scan.source_texts import Sources, read_texts


def verified(
    diagnosis: Diagnosis,
    sources: Sources,
    calls: Sequence[Saved],
    why_none: Sequence[str],
    timeout: float,
    progress: runner.Progress,
) -> Diagnosis:
    """``diagnosis`` with the grades of its fixes on those of ``calls`` that reach them, or with a note with the reason.

    ``sources`` are the files that ``sources_of`` gives. ``why_none`` says why no call was saved. The runs of one call
    with fixes take at most ``timeout`` seconds.
    """
    fixable = [finding for finding in diagnosis.findings if finding.fix is not None and finding.fix.edits]
    if not fixable:
        return _noted(diagnosis, "there is no fix to verify")
    if not calls:
        return _noted(diagnosis, f"{NOT_VERIFIED}{'; '.join(why_none)}")
    temporary = tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True)
    proofs: list[OnCall] = []
    with temporary as folder, runner.Server() as server:
        runs = _Runs(diagnosis, sources, calls, timeout, Path(folder), progress, server)
        try:
            while call := runs.best([f for f in fixable if not any(f.fingerprint in p.broke for p in proofs)]) or (
                runs.another() if _not_run(proofs) else None
            ):
                if failed := next((run for run in call.runs if run.outcome != "ok"), None):
                    reason = f"the saved call of {call.saved.name} fails: {failed.detail or failed.outcome}"
                    diagnosis = _noted(diagnosis, f"{NOT_VERIFIED}{reason}")
                    continue
                here = runs.without_others(call, _as_in(call.runs, diagnosis.findings))
                copies = Copies(call.request, sources.files, progress, server)
                if result := verify(
                    here, sources.texts, call.runs, copies, each=False, seconds=timeout, constructs=False
                ):
                    broke = frozenset(finding.fingerprint for finding in here if _broke(finding))
                    proofs.append(OnCall(call.saved, result, broke, tuple(call.runs)))
        except runner.NotStarted as error:
            diagnosis = _noted(diagnosis, f"{NOT_VERIFIED}{error}")
    if not proofs:
        return diagnosis
    proof = together(proofs)
    notes = [f"fixes verified on the saved first call of {enumerated([proof.call.name for proof in proofs])}"]
    notes += dict.fromkeys(line for proof in proofs for run in proof.runs for line in run.left_out)
    findings = graded(diagnosis.findings, proof)
    ranked = rank(with_fixes(findings, proof.passed, of_varying(catalog.rules())))
    samples = tuple(str(proof.call.file) for proof in proofs)
    proved = replace(diagnosis, findings=ranked, verification=proof.verification, samples=samples)
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


class _Runs:
    """Runs the saved calls as they are, each at most once and only when it is needed."""

    def __init__(
        self,
        diagnosis: Diagnosis,
        sources: Sources,
        calls: Sequence[Saved],
        timeout: float,
        folder: Path,
        progress: runner.Progress,
        server: runner.Server,
    ) -> None:
        self._root, self._findings = Path(diagnosis.root), diagnosis.findings
        self._watched = tuple(str(file.resolve()) for file in sources.files.values())
        self._calls = calls
        self._given: list[Saved] = []
        self._ran: dict[Saved, _Call] = {}
        self._timeout, self._folder, self._progress, self._server = timeout, folder, progress, server

    def best(self, findings: Sequence[Finding]) -> _Call | None:
        """Of the calls that it has not given yet, the first one in which most of ``findings`` break.

        Where none breaks, it is the first call of all at first, and None later. Raises NotStarted.
        """
        wanted = sum(map(_broke, findings))
        best, most = None, 0 if self._given else -1
        for saved in self._calls if wanted or not self._given else ():
            call = self._run(saved)
            broken = sum(_broke(finding) for finding in _as_in(call.runs, findings))
            if broken > most and saved not in self._given:
                best, most = call, broken
            if most == wanted:
                break
        if best is not None:
            self._given.append(best.saved)
        return best

    def another(self) -> _Call | None:
        """A call that it has not given yet and that breaks: behind its breaks are lines that other calls do not run.

        Raises NotStarted.
        """
        for saved in (each for each in self._calls if each not in self._given):
            call = self._run(saved)
            self._given.append(saved)
            if any(run.breaks for run in call.runs):
                return call
        return None

    def without_others(self, call: _Call, findings: Sequence[Finding]) -> list[Finding]:
        """``findings`` as they are in ``call``, without the fixes of those that break in other calls only."""
        others = [_as_in(one.runs, self._findings) for one in self._ran.values() if one is not call]
        elsewhere = {found.fingerprint for found in itertools.chain(*others) if _broke(found)}
        return [
            replace(found, fix=None) if found.fingerprint in elsewhere and not _broke(found) else found
            for found in findings
        ]

    def _run(self, saved: Saved) -> _Call:
        if saved in self._ran:
            return self._ran[saved]
        reference = self._folder / str(len(self._ran))
        reference.mkdir()
        request = RunRequest(
            file=saved.file.resolve(),
            root=self._root,
            watch=self._watched,
            mode="train" if saved.training else "eval",
            timeout=self._timeout,
            reference=reference,
            recompiles=False,
            deeper=False,
        )
        request, found = device_choice.run(request, self._progress, self._server)
        self._ran[saved] = _Call(saved, request, tuple(found.runs))
        return self._ran[saved]


def _not_run(proofs: Sequence[OnCall]) -> bool:
    """Whether there is a fix whose line ran in none of the calls."""
    each = zip(*(proof.result.findings for proof in proofs), strict=True)
    fixes = ([found.fix for found in one if found.fix is not None] for one in each)
    return any(one and all(NOT_RUN in fix.doubts for fix in one) for one in fixes)


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


def sources_of(diagnosis: Diagnosis) -> Sources:
    """The user's files that findings or their fixes are in, as they are now."""
    paths = {finding.location.path for finding in diagnosis.findings}
    paths |= {edit.path for finding in diagnosis.findings if finding.fix for edit in finding.fix.edits}
    return read_texts([(Path(diagnosis.root, path), path) for path in sorted(paths)], {})


def _noted(diagnosis: Diagnosis, *notes: str) -> Diagnosis:
    return replace(diagnosis, notes=(*diagnosis.notes, *notes))
