"""Which lines of the original Dynamo traced in the code with the fixes, and at which findings nothing broke there.

They may lie behind a break that a fix removes, so the run of the original says nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from graphdoctor.fixes.core.apply import edits_by_path, original_lines
from graphdoctor.fixes.verification.trials import Trial
from graphdoctor.model.findings import Edit, Finding
from graphdoctor.syntax.passed_over import may_be_passed_over


def passed(findings: Iterable[Finding], trial: Trial, texts: Mapping[str, str]) -> frozenset[str]:
    """The fingerprints of ``findings`` whose lines Dynamo traced in each run of ``trial``, which broke nowhere.

    No line of theirs is one that a fix changes, and none of them has a fix in ``trial``.
    """
    applied = {finding.fingerprint for finding in trial.applied}
    changed = {path: {*_changed(edits)} for path, edits in edits_by_path(trial.applied).items()}
    known: dict[str, set[int]] = {}

    def is_passed(finding: Finding) -> bool:
        place = finding.location
        lines = set(range(place.line, place.end_line + 1))
        if finding.fingerprint in applied or place.path not in texts or lines & changed.get(place.path, set()):
            return False
        if place.path not in known:
            known[place.path] = set.intersection(*traced(place.path, texts[place.path], trial))
        span = (place.line, place.column, place.end_line, place.end_column)
        return bool(lines & known[place.path]) and not may_be_passed_over(texts[place.path], span)

    return frozenset(finding.fingerprint for finding in findings if is_passed(finding))


def traced(path: str, text: str, trial: Trial) -> Sequence[set[int]]:
    """The lines of the original, ``text``, that Dynamo traced in the fixed code, one set for each run of ``trial``.

    What a fix puts in the place of lines counts for the first of them.
    """
    lines = original_lines(text, edits_by_path(trial.applied).get(path, ()))
    every = ([number for number in run.executed.get(path, ()) if number <= len(lines)] for run in trial.runs)
    return [{lines[number - 1] for number in numbers} for numbers in every]


def _changed(edits: Iterable[Edit]) -> Iterable[int]:
    """The lines of the original that ``edits`` change; one that a line is put before stays as it is."""
    for edit in edits:
        yield from range(edit.start[0], edit.end[0] + (edit.end[1] > 1))
