"""Joins what a job compiled with the static pass over the user's files that took part in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphdoctor.breaks.job_locations import JobPlaces, Sources
from graphdoctor.breaks.locations import function_at
from graphdoctor.diagnosis.join import is_usage, join, of_fullgraph, of_varying, rule_texts
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.runs import DynamicRun
from graphdoctor.scan.filtering import Selection, kept
from graphdoctor.scan.options import ScanOptions, settings_for
from graphdoctor.scan.pipeline import diagnose
from graphdoctor.scan.plan import plan_for
from graphdoctor.scan.ruleset import ruleset
from graphdoctor.static.rule import Rule
from graphdoctor.trace.process import Process


def taken_part(processes: Iterable[Process]) -> frozenset[str]:
    """The files that were traced, and those of the callers."""
    found: set[str] = set()
    for process in processes:
        found |= process.paths | set(process.traced or ())
        found |= {frame.path for event in process.breaks for frame in (*event.above, *event.traced)}
    return frozenset(found)


def own_files(processes: Iterable[Process], places: JobPlaces, sources: Sources) -> tuple[str, ...]:
    """The user's files that took part and are here unchanged."""
    own = (path for path in taken_part(processes) if path.endswith(".py") and places.kind(path) == "own")
    return tuple(sorted(path for path in own if sources.text(path)))


@dataclass(frozen=True)
class StaticScan:
    """The static findings of a job's files, also those that are only possible; ``selection`` are those to show."""

    diagnosis: Diagnosis
    rules: tuple[Rule, ...]
    selection: Selection


def static_scan(files: Sequence[str], options: ScanOptions) -> StaticScan | None:
    """What the static pass finds in ``files``; None without files. Raises UsageError."""
    if not files:
        return None
    plan = plan_for(replace(options, paths=tuple(files), run=False, possible=True, only_given=True))
    selection = replace(plan.selection, possible=options.possible)
    return StaticScan(diagnose(plan), plan.static.rules.loaded.rules, selection)


def joined(static: StaticScan, runs: Sequence[DynamicRun], texts: Mapping[str, str]) -> tuple[Finding, ...]:
    """The findings of ``static`` with their status, and the breaks of ``runs``; none of code that was not compiled.

    ``texts`` are the user's files by the paths of the findings.
    """
    rules = static.rules
    every = join(static.diagnosis.findings, runs, rule_texts(rules), of_fullgraph(rules), of_varying(rules), texts)
    every = kept(every, static.selection, texts)
    compiled = _compiled(runs, texts)
    return tuple(finding for finding in every if _concerns(finding, compiled))


def without_source(runs: Sequence[DynamicRun], options: ScanOptions) -> tuple[Finding, ...]:
    """The breaks of ``runs`` of which no source file is here. Raises UsageError."""
    rules = ruleset(settings_for(replace(options, paths=(".",)))).rules
    return join((), runs, rule_texts(rules))


def _concerns(finding: Finding, compiled: set[tuple[str, str]]) -> bool:
    """Breaks that happened, findings about the program around the models, and findings in compiled functions."""
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
