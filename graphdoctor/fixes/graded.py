"""What verification says of one fix: its grade, and in sentences what was seen of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from graphdoctor.fixes.apply import edits_by_path, original_lines
from graphdoctor.fixes.trials import Seen, Trial, Trials, break_places, innermost
from graphdoctor.model import Finding, Fix, Grade
from graphdoctor.run_model import DynamicRun


def finding(
    found: Finding,
    trial: Trial,
    trials: Trials,
    before: Sequence[DynamicRun],
    dropped: Mapping[Finding, str],
    minimal: Sequence[Finding] | None,
) -> Finding:
    """``found`` with the grade and the detail of its fix.

    ``trial`` has all fixes that stood the proof, ``dropped`` says why others did not.
    """
    fix = found.fix
    if fix is None or not fix.edits:
        return found
    if found in dropped:
        return replace(found, fix=replace(fix, grade="none", detail=f"Dropped: {dropped[found]}."))
    if found not in trial.applied or trial.problem or not trial.equal:
        return found
    sentences = [*_alone(found, trials, before, len(trial.applied)), *_sides(found, trials.seen)]
    if trial.raises and trials.has_time() and (raises := trials.raises([found])):
        sentences.append(f"{raises[0].upper()}{raises[1:]}.")
        fix = replace(fix, safety="unsafe")
    if minimal is not None and found.status == "confirmed" and found not in minimal:
        sentences.append("fullgraph=True does not need it.")
    return replace(found, fix=replace(fix, grade=_grade(found, fix, trial, trials.texts), detail=" ".join(sentences)))


def still_breaks(found: Finding, trial: Trial, texts: Mapping[str, str]) -> bool:
    """Whether the place of ``found`` breaks with the fixes of ``trial``; lines count as those they come from."""
    place = found.location
    edits = edits_by_path(trial.applied).get(place.path, [])
    lines = original_lines(texts[place.path], edits)
    breaks = [b for run in trial.runs for b in run.breaks]
    places = [innermost(b) if found.owner == "third-party" else (b.path, b.line) for b in breaks]
    broken = {line for path, line in places if path == place.path and line <= len(lines)}
    return any(place.line <= lines[line - 1] <= place.end_line for line in broken)


def _grade(found: Finding, fix: Fix, trial: Trial, texts: Mapping[str, str]) -> Grade:
    """Of what the run did not confirm nothing is known but that results stay."""
    if found.status != "confirmed":
        return fix.grade
    return "setup-required" if still_breaks(found, trial, texts) else "general"


def _alone(found: Finding, trials: Trials, before: Sequence[DynamicRun], together: int) -> Iterable[str]:
    """The count with this fix alone, where that says more than the count with all."""
    if trials.each and together > 1 and found.status == "confirmed" and trials.has_time():
        last = before[-1]
        after = len(trials.attempt([found], last.mode).breaks)
        yield f"Alone: {after} graph {'break' if after == 1 else 'breaks'}, {len(break_places([last]))} before."


def _sides(found: Finding, seen: Seen) -> Iterable[str]:
    """Which sides of the tests in these lines ran on varied inputs: no more was compared."""
    place = found.location
    for line in range(place.line, place.end_line + 1):
        truths = seen.get((place.path, line), frozenset())
        if len(truths) == 2:
            yield "On varied inputs both outcomes of the test occurred, and the eager results stayed the same."
        elif truths:
            (truth,) = truths
            yield (
                f"On varied inputs the test was always {str(truth).lower()}, and the eager results stayed the same; "
                "the other side is not compared."
            )
