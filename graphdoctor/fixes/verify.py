"""Proves fixes: the fixed code is run again, and its breaks and outputs are compared with those of the original.

No torch here: ``rerun`` runs a copy of the code in which some files have other texts, and nothing on disk changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphdoctor.fixes.apply import edits_by_path, fixed_texts, original_lines, select_fixes
from graphdoctor.model import Break, DynamicRun, Finding, Fix, Grade, Numerics, Verification

Rerun = Callable[[Mapping[str, str]], Sequence[DynamicRun]]

#: Further runs that are spent on finding out which fix is wrong.
EXTRA_RUNS = 4


@dataclass(frozen=True)
class Verified:
    """``findings`` with the grades of their fixes, and what the runs with the fixes showed."""

    verification: Verification
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class _Trial:
    """A set of fixes and what the runs with them showed; ``problem`` is empty when they are right."""

    applied: tuple[Finding, ...]
    runs: tuple[DynamicRun, ...]
    problem: str


def verify(
    findings: Sequence[Finding], texts: Mapping[str, str], before: Sequence[DynamicRun], rerun: Rerun
) -> Verified | None:
    """Run the code with all fixes applied, safe or not; when that goes wrong, look for the fixes that are to blame.

    ``texts`` holds the sources by path. None when there is no fix to try.
    """
    chosen, overlapping = select_fixes((f for f in findings if f.status != "refuted"), unsafe=True)
    if not chosen:
        return None

    def attempt(applied: Sequence[Finding]) -> _Trial:
        runs = tuple(rerun(fixed_texts(texts, applied)))
        return _Trial(tuple(applied), runs, _problem(runs))

    everything = attempt(chosen)
    trial, rejected = (everything, ()) if not everything.problem else _without_culprits(everything, attempt)
    left_out = [f for f in chosen if f not in trial.applied]
    graded = tuple(_graded(f, trial, texts, rejected, everything.problem) for f in findings)
    details = [_detail(trial, before)]
    if everything.problem:
        details.append(f"With all {len(chosen)} fixes, {everything.problem}; left out: {_places(left_out) or 'none'}.")
    if overlapping:
        details.append(f"Not tried, because they overlap other fixes: {_places(overlapping)}.")
    verification = Verification(
        fixes=tuple(f.fingerprint for f in trial.applied),
        graphs=max((run.graphs for run in trial.runs), default=0),
        breaks=len(_break_places(trial.runs)),
        fullgraph_passes=_all(run.fullgraph.passes for run in trial.runs),
        numerics=_numerics(trial.runs),
        grade=_grade(trial),
        detail=" ".join(details),
    )
    return Verified(verification, graded)


def _without_culprits(
    failed: _Trial, attempt: Callable[[Sequence[Finding]], _Trial]
) -> tuple[_Trial, tuple[Finding, ...]]:
    """A set of fixes that is right, and those that are wrong; ``failed`` itself when none is found.

    First the safe ones alone, then the unsafe ones one by one on top; if that is no way, each one is left out in turn.
    """
    safe = [f for f in failed.applied if f.fix is not None and f.fix.safety == "safe"]
    unsafe = [f for f in failed.applied if f not in safe]
    best = attempt(safe) if safe and unsafe else None
    budget = EXTRA_RUNS - (best is not None)
    if best is not None and not best.problem:
        rejected = []
        for finding in unsafe[:budget]:
            trial = attempt([*best.applied, finding])
            if trial.problem:
                rejected.append(finding)
            else:
                best = trial
        return best, tuple(rejected)
    for finding in failed.applied[:budget] if len(failed.applied) > 1 else ():
        trial = attempt([f for f in failed.applied if f is not finding])
        if not trial.problem:
            return trial, (finding,)
    return failed, failed.applied


def _problem(runs: Sequence[DynamicRun]) -> str:
    """What is wrong with the fixed code, as a clause."""
    for run in runs:
        if run.outcome != "ok":
            return f"the {run.mode} run did not end well ({run.outcome}{': ' + run.detail if run.detail else ''})"
        if run.numerics is not None and run.numerics.equal is False:
            return f"the outputs in {run.mode} mode differ from the original ones"
    return "" if runs else "nothing ran"


def _graded(
    finding: Finding, trial: _Trial, texts: Mapping[str, str], rejected: Sequence[Finding], problem: str
) -> Finding:
    """``finding`` with the grade that the trial gives its fix."""
    fix = finding.fix
    if fix is None or not fix.edits:
        return finding
    if finding in rejected:
        return replace(finding, fix=replace(fix, grade="none", reason=f"{fix.reason} It failed: {problem}."))
    if finding not in trial.applied or trial.problem or finding.status != "confirmed":
        return finding
    return replace(finding, fix=_with_grade(fix, finding, trial, texts))


def _with_grade(fix: Fix, finding: Finding, trial: _Trial, texts: Mapping[str, str]) -> Fix:
    """General: its place no longer breaks. Setup-required: it does, but not with fullgraph=True."""
    numerics = _numerics(trial.runs)
    if numerics is None or not numerics.equal:
        return fix
    path, place = finding.location.path, finding.location
    lines = original_lines(texts[path], edits_by_path(trial.applied)[path])
    still = [b for run in trial.runs for b in run.breaks if b.path == path and b.line <= len(lines)]
    if not any(place.line <= lines[b.line - 1] <= place.end_line for b in still):
        return replace(fix, grade="general")
    passes = _all(run.fullgraph.passes for run in trial.runs)
    return replace(fix, grade="setup-required" if passes else "none")


def _grade(trial: _Trial) -> Grade:
    numerics = _numerics(trial.runs)
    equal = numerics is not None and numerics.equal is True
    if trial.problem or not equal or not _all(run.fullgraph.passes for run in trial.runs):
        return "none"
    return "setup-required" if _break_places(trial.runs) else "general"


def _numerics(runs: Iterable[DynamicRun]) -> Numerics | None:
    """The worst of the comparisons; None when a run made none."""
    every = [run.numerics for run in runs]
    known = [n for n in every if n is not None]
    if not known or len(known) < len(every):
        return None
    return min(known, key=lambda n: (n.equal is not False, n.equal is not None, -(n.max_abs_diff or 0.0)))


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    """False when one is, True when all are, else None."""
    every = list(verdicts)
    if False in every:
        return False
    return True if every and None not in every else None


def _break_places(runs: Iterable[DynamicRun]) -> set[tuple[object, ...]]:
    return {_place(b) for run in runs for b in run.breaks}


def _place(brk: Break) -> tuple[object, ...]:
    return (brk.path, brk.line, brk.column, brk.gb_id or brk.gb_type)


def _detail(trial: _Trial, before: Sequence[DynamicRun]) -> str:
    unsafe = sum(f.fix is not None and f.fix.safety == "unsafe" for f in trial.applied)
    count = len(trial.applied)
    fixes = f"{count} {'fix' if count == 1 else 'fixes'}" + (f" ({unsafe} of them unsafe)" if unsafe else "")
    after, earlier = len(_break_places(trial.runs)), len(_break_places(before))
    return (
        f"{fixes} applied to a copy in memory: {after} graph {'break' if after == 1 else 'breaks'}, {earlier} before."
    )


def _places(findings: Iterable[Finding]) -> str:
    return ", ".join(f"{f.rule} at {f.location.path}:{f.location.line}" for f in findings)
