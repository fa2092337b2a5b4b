"""Which of several fixes are at fault, where all of them together are not right or do something in another way.

A set is checked by compiling it in each mode and by running it on varied inputs, and in most cases one of these checks
shows what is wrong. So subsets get that check alone, and only what is left gets all checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from graphdoctor.fixes.verification.subsets import failing, working
from graphdoctor.fixes.verification.trials import Trial, Trials
from graphdoctor.model.findings import Finding


def right_together(order: Sequence[Finding], trials: Trials) -> tuple[list[Finding], list[Trial]]:
    """Those of ``order`` that pass all checks together, earlier ones preferred, and the larger sets that did not."""
    left, failed = list(order), list[Trial]()
    while left:
        trial = trials.attempt(in_order(left))
        if not trial.problem:
            break
        failed.append(trial)
        fewer = working(left, partial(_stands_one, failed=trial, trials=trials))
        left_out = [fix for fix in left if fix not in fewer]
        if not left_out or any(_stands_one([fix], trial, trials) for fix in left_out):
            # It may take two fixes, or another mode that ran before: only all checks tell which one to leave out.
            fewer = working(left, partial(_stands_all, trials=trials))
        left = fewer
    return left, failed


def _stands_one(fixes: Sequence[Finding], failed: Trial, trials: Trials) -> bool:
    return trials.has_time() and not trials.same_problem(in_order(fixes), failed)


def _stands_all(fixes: Sequence[Finding], trials: Trials) -> bool:
    return trials.has_time() and not trials.attempt(in_order(fixes)).problem


def why_left_out(finding: Finding, failed: Sequence[Trial], trials: Trials) -> str:
    """Why ``finding`` is not among those that are right together, as a clause; ``failed`` are larger sets with it."""
    if not (trials.was_tried([finding]) or trials.has_time()):
        return "not tried for lack of time"
    problems = filter(None, (trials.same_problem([finding], trial) for trial in failed))
    problem = next(problems, "") or trials.attempt([finding]).problem
    return problem or "it does not go together with the other fixes"


def changing_alone(trial: Trial, trials: Trials) -> dict[Finding, str]:
    """The fixes of ``trial`` that do something in another way than the original, with what that is, as a clause."""
    if trial.problem or not trial.equal or not trial.changes:
        return {}

    def changes(fixes: Sequence[Finding]) -> str:
        if not trials.has_time():
            return f"{trial.changes}, which may be this fix"
        return trials.same_changes(in_order(fixes), trial)

    return failing(trial.applied, changes)


def in_order(fixes: Iterable[Finding]) -> list[Finding]:
    """``fixes`` as they stand in the source."""
    return sorted(fixes, key=lambda f: f.location)
