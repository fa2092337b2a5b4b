"""One model, copied in as the user's own code: its breaks before and after the fixes that were verified."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphdoctor.api import ScanOptions, scan, scan_in_rounds
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import label, sets_for_process
from graphdoctor.model.runs import Break

#: The file of a case that declares its sample; the sources that it imports lie beside it.
SAMPLE = "sample.py"


@dataclass(frozen=True)
class Written:
    """A fix that was written: its rule, its label, and the round it was written in."""

    rule: str
    label: str
    round: int
    place: str
    whole_process: bool


@dataclass(frozen=True)
class Result:
    """What came of one case. ``error`` says why there are no numbers; empty where there are."""

    name: str
    error: str = ""
    #: The mode that it was run in.
    mode: str = "eval"
    before: int = 0
    after: int = 0
    fullgraph: bool = False
    rounds: int = 0
    fixes: tuple[Written, ...] = ()
    #: What still breaks: place, id of the break, and what the finding there says.
    left: tuple[str, ...] = ()

    @property
    def is_zero(self) -> bool:
        """Whether the model ends in no graph break, and compiles with fullgraph=True."""
        return not self.error and self.after == 0 and self.fullgraph


def measure(case: Path, work: Path, mode: str, timeout: float) -> Result:
    """Fix a copy of the folder ``case`` in ``work``, round by round, with every fix that no run refuted."""
    copy = work / case.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(case, copy)
    options = ScanOptions(
        paths=(str(copy / SAMPLE),), run=True, mode=mode, timeout=timeout, device="cpu", behind_verdict=False
    )
    rounds = tuple(scan_in_rounds(_writing(options)))
    first = rounds[0].dynamic or ()
    failed = [run for run in first if run.outcome != "ok" and not run.fails_compiled]
    if failed or not first:
        return Result(case.name, f"{failed[0].outcome}: {failed[0].detail}" if failed else "not run", mode)
    fixes = tuple(w for number, diagnosis in enumerate(rounds, 1) for w in _written(diagnosis.findings, number))
    last = scan(_reading(options)) if fixes else rounds[0]
    runs = last.dynamic or ()
    if any(run.outcome != "ok" and not run.fails_compiled for run in runs):
        detail = next(run.detail for run in runs if run.outcome != "ok" and not run.fails_compiled)
        return Result(case.name, f"with the fixes: {detail}", mode, rounds=len(rounds), fixes=fixes)
    return Result(
        name=case.name,
        mode=mode,
        before=len(_breaks(rounds[0])),
        after=len(_breaks(last)),
        fullgraph=all(run.outcome == "ok" and run.fullgraph.passes for run in runs),
        rounds=len(rounds),
        fixes=fixes,
        left=tuple(_left(last, rounds[-1])),
    )


def _writing(options: ScanOptions) -> ScanOptions:
    return replace(options, fix=True, unsafe_fixes=True)


def _reading(options: ScanOptions) -> ScanOptions:
    return replace(options, verify=False, quick=True)


def _breaks(diagnosis: Diagnosis) -> dict[tuple[Any, ...], Break]:
    """The breaks of all runs, each place once."""
    found = (brk for run in diagnosis.dynamic or () for brk in run.breaks)
    return {(b.path, b.line, b.column, b.gb_id or b.gb_type): b for b in found}


def _written(findings: Iterable[Finding], number: int) -> Iterable[Written]:
    for found in findings:
        if found.fix is not None and found.fix.written:
            place = f"{found.location.path}:{found.location.line}"
            yield Written(found.rule, label(found.fix), number, place, sets_for_process(found.fix))


def _left(last: Diagnosis, proved: Diagnosis) -> Iterable[str]:
    findings_by_line = {(f.location.path, line): f for f in last.findings for line in _lines(f)}
    dropped = {d.fix: d.reason for d in (proved.verification.dropped if proved.verification else ())}
    for brk in _breaks(last).values():
        found = findings_by_line.get((brk.path, brk.line))
        why = "no finding" if found is None else dropped.get(found.fingerprint) or _why(found)
        yield f"{brk.path}:{brk.line} {brk.function} {brk.gb_id or brk.gb_type}: {why}"
    for run in last.dynamic or ():
        if not run.breaks and run.fullgraph.passes is False:
            yield f"fullgraph: {run.fullgraph}"


def _lines(found: Finding) -> Sequence[int]:
    return range(found.location.line, found.location.end_line + 1)


def _why(found: Finding) -> str:
    explanation = found.suggestion if found.fix is None else found.fix.detail or found.fix.reason
    return f"{found.rule} {found.status}: {explanation}"
