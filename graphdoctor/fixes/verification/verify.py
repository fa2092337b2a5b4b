"""Proves fixes: the fixed code is run again, and its breaks and results are compared with those of the original.

No torch here: ``Copies`` runs copies of the code, and nothing on disk changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.fixes.verification import grading
from graphdoctor.fixes.verification.at_fault import changing_alone, in_order, right_together, why_left_out
from graphdoctor.fixes.verification.constructors import of_constructor, unbuilt
from graphdoctor.fixes.verification.passed import passed
from graphdoctor.fixes.verification.subsets import failing, needed
from graphdoctor.fixes.verification.trials import Copies, Trial, Trials, break_places, known
from graphdoctor.model.findings import Finding, Grade
from graphdoctor.model.labels import BREAKS_NEXT, label, sets_for_process
from graphdoctor.model.runs import Break, Dropped, DynamicRun, Verification

#: Fixes up to which the minimal set is looked for: each takes one compile of the model.
MOST_FIXES = 24


@dataclass(frozen=True)
class Verified:
    """``findings`` with the grades of their fixes, and what the runs with the fixes showed.

    ``passed`` are those at which nothing broke then, by their fingerprints: none unless all compiles by default.
    """

    verification: Verification
    findings: tuple[Finding, ...]
    passed: frozenset[str] = frozenset()


def verify(
    findings: Sequence[Finding],
    texts: Mapping[str, str],
    before: Sequence[DynamicRun],
    copies: Copies,
    each: bool = True,
    seconds: float = 120.0,
    constructs: bool = True,
) -> Verified | None:
    """Run the code with all fixes, safe or not; with ``each`` also with each one alone and those that fullgraph needs.

    Fixes that change results or leave their break in place are dropped. ``texts`` holds the sources by path. After
    ``seconds`` no further set is tried. None when there is no fix to try.

    Where the runs do not construct the objects, because a saved call brings them, fixes of constructors prove nothing.
    """
    apart = () if constructs else tuple(finding for finding in findings if of_constructor(finding, texts))
    chosen, overlapping = select_fixes([f for f in findings if f not in apart], unsafe=True, owner=None)
    if not chosen:
        return None
    trials = Trials(texts, copies, each, seconds)
    trials.record(chosen, before)
    reasons: dict[Finding, str] = {}
    trial = _right(chosen, trials, reasons, before)
    trial = _as_proved(trial, trials, reasons)
    trial = _effective(trial, trials, reasons)
    trial = _local(trial, trials, reasons, before)
    if not trial.applied:
        # Nothing is left to show but the original.
        trial = Trial((), tuple(before), "")
    minimal = _minimal(trial, trials) if each else None
    changing = changing_alone(trial, trials)
    results = grading.Results(trial, trials, before, reasons, changing, minimal)
    graded = (unbuilt(f) if f in apart else grading.finding(f, results) for f in findings)
    proved = _together(tuple(graded), trials)
    rest = [*_assumed(proved), *_left_out(reasons, overlapping), *_sufficient(trial, minimal)]
    grade = _grade(trial)
    verification = Verification(
        fixes=tuple(f.fingerprint for f in trial.applied),
        graphs=max((run.graphs for run in trial.runs), default=0),
        breaks=len(trial.breaks),
        fullgraph_passes=trial.fullgraph,
        numerics=trial.numerics,
        grade=grade,
        detail=" ".join([*_outcome(trial, before, reasons, proved), *_next_breaks(trial, before, texts), *rest]),
        minimal=None if minimal is None else tuple(f.fingerprint for f in minimal),
        dropped=tuple(Dropped(f.fingerprint, reason) for f, reason in reasons.items()),
    )
    # A setting may let through what breaks without it.
    return Verified(verification, proved, passed(findings, trial, texts) if grade == "general" else frozenset())


def _right(
    chosen: Sequence[Finding], trials: Trials, reasons: dict[Finding, str], before: Sequence[DynamicRun]
) -> Trial:
    """The trial of the fixes that are right together and alone; why the others are not goes to ``reasons``."""
    everything = trials.attempt(chosen)
    if not everything.problem and not trials.each:
        return everything
    if not everything.problem and len(chosen) > 1:
        # One compile for each: the mode that has gradients, where there is one.
        alone = [trials.attempt([f], before[-1].mode) for f in chosen if trials.has_time()]
        reasons.update({t.applied[0]: f"alone, {t.problem}" for t in alone if t.problem})
        if not reasons:
            return everything
    # The safe ones first, so that of two that do not go together the unsafe one is left out.
    order = sorted((f for f in chosen if f not in reasons), key=lambda f: f.fix is not None and f.fix.safety != "safe")
    kept, failed = right_together(order, trials)
    reasons.update({f: why_left_out(f, failed, trials) for f in order if f not in kept})
    return trials.attempt(in_order(kept)) if kept else replace(everything, applied=())


def _as_proved(trial: Trial, trials: Trials, reasons: dict[Finding, str]) -> Trial:
    """``trial`` without the safe fixes of which a run shows that the code does something in another way.

    A difference that one fix announces must not excuse the others, so these are run without it.
    """
    if trial.problem or not trial.changes:
        return trial
    safe = [f for f in trial.applied if f.fix is not None and f.fix.safety == "safe"]
    quiet = [f for f in trial.applied if f not in safe and known(trial.applied) and not known([f])]
    wrong = failing(safe, lambda fixes: trials.varied(fixes)[0] or trials.same_changes(fixes, trial))
    wrong |= failing(quiet, lambda fixes: trials.varied(fixes)[0])
    reasons.update(wrong)
    rest = [f for f in trial.applied if f not in wrong]
    if not wrong:
        return trial
    return trials.attempt(rest) if rest else replace(trial, applied=())


def _together(proved: tuple[Finding, ...], trials: Trials) -> tuple[Finding, ...]:
    """``proved``, where those that are written by default also hold together without the others."""
    written, _ = select_fixes(proved, unsafe=False, owner=None)
    verified = [f for f in written if f.fix is not None and label(f.fix) == "verified"]
    if not verified:
        return proved
    if trials.was_tried(written) or trials.has_time():
        trial = trials.attempt(written)
        if not trial.problem and not trial.changes:
            return proved
        why = f"with the fixes that are written by default, {trial.problem or trial.changes}"
    else:
        why = "there was no time to run it without the unsafe fixes"
    return tuple(grading.unconfirmed(f, why) if f in verified else f for f in proved)


def _effective(trial: Trial, trials: Trials, reasons: dict[Finding, str]) -> Trial:
    """``trial`` without the fixes that leave their break in place and that fullgraph=True does not need either."""
    if trial.problem or not trial.applied:
        return trial
    idle = [f for f in trial.applied if f.status == "confirmed" and grading.still_breaks(f, trial, trials.texts)]
    idle = [f for f in idle if not trial.fullgraph or trials.fullgraph([g for g in trial.applied if g is not f])]
    if not idle:
        return trial
    rest = [f for f in trial.applied if f not in idle]
    reasons.update(dict.fromkeys(idle, "it does not lower the number of graph breaks"))
    return trials.attempt(rest) if rest else replace(trial, applied=())


_WHOLE_PROCESS = "the setting would hold for the whole process"


def _local(trial: Trial, trials: Trials, reasons: dict[Finding, str], before: Sequence[DynamicRun]) -> Trial:
    """``trial`` without the settings for the whole process, where as much is reached without them.

    A setting alone often moves a break to the line that uses the number.
    """
    settings = [f for f in trial.applied if f.fix is not None and sets_for_process(f.fix)]
    rest = [f for f in trial.applied if f not in settings]
    if trial.problem or not settings or (rest and not trials.has_time()):
        return trial
    # In one mode first, which often shows that it is needed, for half the time.
    if rest and _gains(trial, trials.attempt(rest, trial.runs[-1].mode)):
        return trial
    without = trials.attempt(rest) if rest else Trial((), tuple(before), _raised(before))
    if _gains(trial, without):
        return trial
    # One setting may take away as many breaks as another one moves to more lines.
    kinds = dict.fromkeys(f.fix.reason for f in settings if f.fix is not None)
    for kind in kinds if len(kinds) > 1 else ():
        one = [f for f in settings if f.fix is not None and f.fix.reason == kind]
        if trials.has_time() and _gains(alone := trials.attempt(in_order([*rest, *one])), without):
            others = [f for f in settings if f not in one]
            reasons.update(dict.fromkeys(others, f"it removes no graph break, and {_WHOLE_PROCESS}"))
            return alone
    passes = "the other fixes suffice without it" if rest else "fullgraph=True passes without it"
    less = passes if without.fullgraph else "it removes no graph break"
    reasons.update(dict.fromkeys(settings, f"{less}, and {_WHOLE_PROCESS}"))
    return without


def _gains(trial: Trial, without: Trial) -> bool:
    """Whether what ``without`` leaves out does anything for ``trial``."""
    passes_only_here = trial.fullgraph is True and without.fullgraph is not True
    return bool(without.problem) or len(without.breaks) > len(trial.breaks) or passes_only_here


def _raised(runs: Sequence[DynamicRun]) -> str:
    """How a run ended that did not end well; empty where all did."""
    return next((run.outcome for run in runs if run.outcome != "ok"), "")


def _minimal(trial: Trial, trials: Trials) -> list[Finding] | None:
    """The fixes that alone make fullgraph=True pass; None when it fails with all, or it takes too long to find out.

    They are sought in the last mode, which has gradients where one has, and must then hold in all.
    """
    if trial.fullgraph is not True or trial.problem or len(trial.applied) > MOST_FIXES:
        return None
    confirmed = [f for f in trial.applied if f.status == "confirmed"]
    mode = trial.runs[-1].mode
    start = confirmed if trials.fullgraph(confirmed, mode) else list(trial.applied)

    def good(fixes: Sequence[Finding]) -> bool:
        return trials.has_time() and trials.fullgraph(fixes, mode)

    found = needed(start, good)
    if len(found) < len(trial.applied) and len(trial.runs) > 1 and not trials.fullgraph(found):
        return None
    return found if trials.has_time() else None


def _grade(trial: Trial) -> Grade:
    if trial.problem or not trial.applied or not trial.equal or trial.fullgraph is not True:
        return "none"
    by_setting = any(f.fix is not None and sets_for_process(f.fix) for f in trial.applied)
    return "setup-required" if trial.breaks or by_setting else "general"


def _outcome(
    trial: Trial, before: Sequence[DynamicRun], reasons: Mapping[Finding, str], proved: Sequence[Finding]
) -> Iterable[str]:
    """How many breaks there were, or that no fix is left, and how many of the fixes are unsafe."""
    applied = {f.fingerprint for f in trial.applied}
    unsafe = sum(f.fix is not None and label(f.fix) == "unsafe" for f in proved if f.fingerprint in applied)
    if trial.applied:
        yield f"Before: {_plural(len(break_places(before)), 'graph break')}."
    else:
        yield f"No fix is offered: {_plural(len(reasons), 'fix was', 'fixes were')} tried and dropped."
    if unsafe and len(applied) > 1:
        yield f"{unsafe} of the fixes {'is' if unsafe == 1 else 'are'} unsafe."
    elif unsafe:
        yield "The fix is unsafe."


def _assumed(proved: Sequence[Finding]) -> Iterable[str]:
    """For what inputs the fixes are verified."""
    verified = (f.fix for f in proved if f.fix is not None and label(f.fix) == "verified")
    if held := next((fix.assumes for fix in verified if fix.assumes), ""):
        yield f"Verified for {held}."


def _left_out(reasons: Mapping[Finding, str], overlapping: Sequence[Finding]) -> Iterable[str]:
    """The fixes that were dropped or not tried."""
    for reason in dict.fromkeys(reasons.values()):
        yield f"Dropped: {_places(f for f, each in reasons.items() if each == reason)}: {reason}."
    if overlapping:
        yield f"Not tried, because they overlap other fixes: {_places(overlapping)}."


def _sufficient(trial: Trial, minimal: Sequence[Finding] | None) -> Iterable[str]:
    """The fixes that fullgraph=True needs, where it needs not all."""
    if minimal is not None and len(minimal) < len(trial.applied):
        suffice = _plural(len(minimal), "fix suffices", "fixes suffice")
        yield f"For fullgraph=True {suffice}: {', '.join(map(_place, minimal))}." if minimal else _PASSES


#: Lines of the fixed code that break only now, as many as are named.
_SHOWN = 2


def _next_breaks(trial: Trial, before: Sequence[DynamicRun], texts: Mapping[str, str]) -> Iterable[str]:
    """The lines of your code that break with the fixes, where the original did not come so far."""
    known = {_line(entry, texts) for run in before for entry in run.breaks}
    fixed = fixed_texts(texts, trial.applied)
    now = [_line(entry, fixed) for run in trial.runs for entry in run.breaks if entry.owner == "own"]
    lines = [line for line in dict.fromkeys(now) if line and line not in known]
    if lines:
        yield f"{BREAKS_NEXT}{' and '.join(f'`{line}`' for line in lines[:_SHOWN])}."


def _line(entry: Break, texts: Mapping[str, str]) -> str:
    lines = texts.get(entry.path, "").split("\n")
    return lines[entry.line - 1].strip() if entry.line <= len(lines) else ""


_PASSES = "fullgraph=True passes without a fix."


def _place(finding: Finding) -> str:
    return f"{finding.rule} at {finding.location.path}:{finding.location.line}"


def _places(findings: Iterable[Finding]) -> str:
    """Each place once: several expressions of a line may have the same rule."""
    return ", ".join(dict.fromkeys(map(_place, findings)))


def _plural(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
