"""Joins what a job compiled with the static pass over the user's files that took part in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphdoctor import api
from graphdoctor.breaks.job_locations import JobPlaces, Sources
from graphdoctor.breaks.locations import function_at
from graphdoctor.diagnosis.join import is_usage, join, of_fullgraph, rule_texts
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.runs import DynamicRun
from graphdoctor.scan.filtering import kept
from graphdoctor.scan.options import ScanOptions, settings_for
from graphdoctor.scan.ruleset import ruleset
from graphdoctor.trace.process import Process


@dataclass(frozen=True)
class Joined:
    """The findings with their status; ``left_out`` counts those of functions that the job did not compile."""

    findings: tuple[Finding, ...]
    left_out: int


def own_files(processes: Iterable[Process], places: JobPlaces, sources: Sources) -> tuple[str, ...]:
    """The user's files that took part and are here unchanged: those that were traced, and the callers of these."""
    found: set[str] = set()
    for process in processes:
        found |= process.paths | set(process.traced or ())
        found |= {frame.path for event in process.breaks for frame in (*event.above, *event.traced)}
    own = (path for path in found if path.endswith(".py") and places.kind(path) == "own")
    return tuple(sorted(path for path in own if sources.text(path)))


def read(files: Sequence[str], options: ScanOptions) -> Diagnosis | None:
    """The static findings of ``files``, also those that are only possible; None without files. Raises UsageError."""
    if not files:
        return None
    return api.scan(replace(options, paths=tuple(files), run=False, possible=True, only_given=True))


def joined(
    static: Diagnosis | None, runs: Sequence[DynamicRun], options: ScanOptions, texts: Mapping[str, str]
) -> Joined:
    """``static``'s findings and the breaks of ``runs``. ``texts`` are the user's files by the paths of the findings."""
    if static is None:
        settings = settings_for(replace(options, paths=(".",)))
        rules = ruleset(settings).rules
        return Joined(join((), runs, rule_texts(rules)), 0)
    settings = settings_for(replace(options, paths=tuple(str(Path(static.root, path)) for path in texts)))
    rules = ruleset(settings).rules
    every = join(static.findings, runs, rule_texts(rules), of_fullgraph(rules))
    every = kept(every, settings, texts, Path(static.root), options.possible)
    compiled = _compiled(runs, texts)
    findings = tuple(finding for finding in every if _concerns(finding, compiled))
    return Joined(findings, len(every) - len(findings))


def _concerns(finding: Finding, compiled: set[tuple[str, str]]) -> bool:
    """What happened, what is said of the program around the models, and what is in a function that was compiled."""
    if finding.status in ("confirmed", "dynamic-only") or is_usage(finding) or not finding.gb_ids:
        return True
    return (finding.location.path, finding.function) in compiled


def _compiled(runs: Sequence[DynamicRun], texts: Mapping[str, str]) -> set[tuple[str, str]]:
    """The functions that were traced: by their traced lines, else those on the stacks of breaks."""
    found = set()
    for run in runs:
        for path, lines in run.executed.items():
            found |= {(path, function_at(texts.get(path, ""), line) or "") for line in lines}
        for brk in run.breaks:
            found |= {(brk.path, brk.function), *((frame.path, frame.function) for frame in brk.stack)}
    return found
