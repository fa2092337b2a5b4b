"""The result of verification for one fix: its grade, whether it is verified and for what, and sentences on both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphdoctor.breaks.measured_costs import waits_for
from graphdoctor.fixes.core.apply import apply, edits_by_path, original_lines
from graphdoctor.fixes.verification.coverage import has_run, lines_of, tests
from graphdoctor.fixes.verification.moved_on import stood_behind
from graphdoctor.fixes.verification.passed import traced
from graphdoctor.fixes.verification.trials import Trial, Trials, break_places, innermost
from graphdoctor.model.findings import Finding, Fix, Grade
from graphdoctor.model.labels import sets_for_process
from graphdoctor.model.runs import DynamicRun
from graphdoctor.syntax.branches import BOTH

#: The doubt about a fix that the run did not reach.
NOT_RUN = "its line did not run"


@dataclass(frozen=True)
class Results:
    """What verification found out. ``before`` are the runs of the original.

    ``trial`` has all fixes that passed, ``dropped`` has the reasons for the others; ``changing`` has those that do
    something in another way. ``minimal`` are those that fullgraph=True needs; None where that is not known.
    """

    trial: Trial
    trials: Trials
    before: Sequence[DynamicRun]
    dropped: Mapping[Finding, str]
    changing: Mapping[Finding, str]
    minimal: Sequence[Finding] | None

    def has_run(self, found: Finding) -> bool:
        """Whether the line of ``found`` ran in the original."""
        return has_run(found, self.before, self.trials.seen)

    def still_breaks(self, found: Finding) -> bool:
        """Whether the place of ``found`` breaks with the fixes."""
        return still_breaks(found, self.trial, self.trials.texts)


def finding(found: Finding, results: Results) -> Finding:
    """``found`` with what is known of its fix."""
    trial, trials = results.trial, results.trials
    fix = found.fix
    if fix is None or fix.safety == "manual":
        return found
    if found in results.dropped:
        return replace(found, fix=replace(fix, grade="none", detail=f"Dropped: {results.dropped[found]}."))
    if found not in trial.applied or trial.problem:
        return found
    if not trial.equal:
        raised = next((run.detail for run in trial.runs if run.fails_compiled), "")
        return (
            unconfirmed(found, f"the compiled code still raises, as the original does: {raised}") if raised else found
        )
    grade = _grade(found, fix, results)
    seen, gaps = tests(found, trials.texts[found.location.path], trials.seen)
    sentences = [*_alone(found, results), *_in_eager(found, results)]
    doubts = [*_doubts(found, results, grade), *filter(None, [results.changing.get(found)]), *gaps]
    if BOTH in seen.values() and not gaps and not trial.changes:
        sentences.append("On varied inputs both outcomes of the test occurred, and the eager results stayed the same.")
    if results.minimal is not None and found.status == "confirmed" and found not in results.minimal:
        sentences.append("fullgraph=True does not need it.")
    held = "" if doubts else assumptions(trials)
    why = "; ".join(doubts) if fix.safety != "safe" else ""
    fix = replace(fix, grade=grade, detail=" ".join(sentences), doubts=why, verified=not doubts, assumes=held)
    return replace(found, fix=fix)


def unconfirmed(found: Finding, why: str) -> Finding:
    """``found`` without the label "verified", and ``why``."""
    fix = found.fix
    if fix is None:
        return found
    doubts = "; ".join(filter(None, [fix.doubts, why]))
    return replace(found, fix=replace(fix, verified=False, assumes="", doubts=doubts))


def _doubts(found: Finding, results: Results, grade: Grade) -> Iterable[str]:
    """Why the runs prove less than that the fix changes nothing: clauses."""
    if not results.trials.varied_in_all_modes():
        yield "the original was not run on varied inputs in each mode"
    if found.fix is not None and sets_for_process(found.fix):
        yield "it changes a setting for the whole process"
    elif grade == "setup-required":
        yield "it compiles with fullgraph=True only, for that switches on settings that record data"
    elif results.still_breaks(found):
        yield "its line still breaks"
    if not results.has_run(found):
        yield NOT_RUN
    known = found.fix.known if found.fix is not None else ()
    if "checks" in known:
        yield "a check in the loop raises for a round that did not count, too"
    if "compile" in known:
        yield "what it leaves out under compile may be more than output"
    if "costly" in known:
        yield "it takes longer for large matrices, and raises where the original may give NaN"
    if "exception" in known:
        yield "under compile a check that fails raises RuntimeError, and a caller may handle the exception by its type"
    if "once" in known:
        yield "what each call made is made once, and may keep what a call leaves in it"
    if "precision" in known:
        yield "a number of 64 bits is rounded to the dtype of its tensor, which a wider tensor beside it may show"
    if "rows" in known:
        yield "what it calls gets other rows too, and may join them for masks that did not occur"
    if "eager" in known:
        yield "eager code compiles too, which sets what torch.compile sets for the whole process"


def assumptions(trials: Trials) -> str:
    """For what inputs the runs were identical, as a clause."""
    dtypes = sorted({dtype for varied in trials.recorded for dtype in varied.dtypes})
    refused = dict.fromkeys(name for varied in trials.recorded for name in varied.refused)
    skipped = dict.fromkeys(name for varied in trials.recorded for name in varied.skipped)
    text = f"inputs of {', '.join(dtypes)}" if dtypes else "the inputs of the sample"
    if refused:
        text += f"; nothing to compare where the original raises: {', '.join(refused)}"
    if not any(varied.backward for varied in trials.recorded):
        text += "; without gradients"
    if skipped:
        text += f"; not tried for lack of time: {', '.join(skipped)}"
    if trials.noise:
        text += f"; not compared, as two runs of the original differ there: {', '.join(trials.noise)}"
    return text


def still_breaks(found: Finding, trial: Trial, texts: Mapping[str, str]) -> bool:
    """Whether the place of ``found`` breaks with the fixes of ``trial``; lines count as those they come from.

    What stood behind its break, and is met now, is no break of ``found``.
    """
    place = found.location
    text = texts[place.path]
    edits = edits_by_path(trial.applied).get(place.path, [])
    lines, fixed = original_lines(text, edits), apply(text, edits)
    for brk in (b for run in trial.runs for b in run.breaks):
        path, line = innermost(brk) if found.owner == "third-party" else (brk.path, brk.line)
        if path != place.path or line > len(lines) or not place.line <= lines[line - 1] <= place.end_line:
            continue
        if found.owner == "third-party" or not stood_behind(brk, found, text, fixed):
            return True
    return False


def _grade(found: Finding, fix: Fix, results: Results) -> Grade:
    """Of what the run did not confirm nothing is known but that results stay, until all compiles."""
    if sets_for_process(fix):
        return "setup-required"
    if found.status != "confirmed":
        works = results.trial.fullgraph and not results.trial.breaks
        return "general" if works and found.status == "static-only" else fix.grade if works else "no-effect"
    return "setup-required" if results.still_breaks(found) else "general"


def _in_eager(found: Finding, results: Results) -> Iterable[str]:
    """That the line ran, and Dynamo, which gave up its function before, did not come to it with the fixes either."""
    trial, place = results.trial, found.location
    if not waits_for(found) or not trial.breaks or not results.has_run(found):
        return
    # Without the lines that were traced nothing is known.
    known = all(place.path in run.executed for run in trial.runs)
    lines = lines_of(found)
    if known and not any(lines & reached for reached in traced(place.path, results.trials.texts[place.path], trial)):
        yield "With the fixes, its line still runs in eager only, behind a graph break."


def _alone(found: Finding, results: Results) -> Iterable[str]:
    """The count with this fix alone, where it differs from the count with all."""
    trials = results.trials
    if trials.each and len(results.trial.applied) > 1 and found.status == "confirmed" and trials.has_time():
        last = results.before[-1]
        after = len(trials.attempt([found], last.mode).breaks)
        yield f"Alone: {after} graph {'break' if after == 1 else 'breaks'}, {len(break_places([last]))} before."
