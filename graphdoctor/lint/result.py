"""The results of the static pass. Nothing here needs libcst, so that cached results are read quickly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from graphdoctor.model.findings import Confidence, Finding, Region, ScannedFile, Severity

CONFIDENCES = get_args(Confidence)
SEVERITIES = get_args(Severity)

#: The path to show for a file, or None where its findings are not wanted.
PathOf = Callable[[Path], str | None]


#: What tells a finding of a scan from the others: the rule, the path, the line and the column.
FindingKey = tuple[str, str, int, int]


@dataclass(frozen=True)
class FoundRegion:
    """A region of a file, whose findings have no fingerprints yet."""

    region: Region
    findings: tuple[FindingKey, ...]
    #: The path and the name of what it calls that may be a region of another file.
    calls: frozenset[tuple[str, str]]

    @property
    def key(self) -> tuple[str, str]:
        """The path and the name."""
        return self.region.path, self.region.name


@dataclass(frozen=True)
class FileResult:
    """What the analysis of one file gave."""

    scanned: ScannedFile
    findings: tuple[Finding, ...] = ()
    #: The lines that begin a statement which the rules saw; None where that is not known, or nothing is silenced.
    judged: frozenset[int] | None = None
    #: Files beside this one that have findings: where they are on disk, by shown path.
    helpers: Mapping[str, Path] = field(default_factory=dict)
    #: The files that were looked at or looked for, by their full paths: while these stay, the result stays.
    looked_at: frozenset[str] = frozenset()
    #: Whether the file has code that is compiled: a module with a forward, or a call of torch.compile.
    compiles: bool = False
    regions: tuple[FoundRegion, ...] = ()


@dataclass(frozen=True)
class StaticResult:
    """The results of the static pass for some files."""

    files: tuple[ScannedFile, ...]
    findings: tuple[Finding, ...]
    #: Files beside the scanned ones that have findings: where they are on disk, by shown path.
    helpers: Mapping[str, Path] = field(default_factory=dict)
    #: Lines that begin a statement which the rules saw, by shown path; only of scanned files that were analysed
    #: completely and have comments which silence findings.
    judged: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: Whether any of the files has code that is compiled.
    compiles: bool = False
    #: The regions that no other one calls.
    regions: tuple[FoundRegion, ...] = ()


def merged(results: Iterable[FileResult]) -> StaticResult:
    """All results together; of one rule at one place, which several files may lead to, the surest finding."""
    results = tuple(results)
    scanned: list[ScannedFile] = []
    findings: dict[tuple[str, str, int, int], Finding] = {}
    helpers: dict[str, Path] = {}
    judged: dict[str, frozenset[int]] = {}
    compiles = False
    for result in results:
        scanned.append(result.scanned)
        helpers.update(result.helpers)
        compiles = compiles or result.compiles
        if result.judged is not None:
            judged[result.scanned.path] = result.judged
        for finding in result.findings:
            key = key_of(finding)
            if key not in findings or _surer(finding, findings[key]):
                findings[key] = finding
    ordered = sorted(findings.values(), key=lambda f: (f.location, f.rule))
    regions = _not_called(result.regions for result in results)
    return StaticResult(tuple(scanned), tuple(ordered), helpers, judged, compiles, regions)


def key_of(finding: Finding) -> FindingKey:
    """What tells ``finding`` from the others of a scan."""
    return finding.rule, finding.location.path, finding.location.line, finding.location.column


def _not_called(found: Iterable[Iterable[FoundRegion]]) -> tuple[FoundRegion, ...]:
    """The regions of all files, each once, but for those that others call with all that breaks in them.

    Where two call each other, both are kept; and so is one that breaks with other arguments than it gets from others.
    """
    regions: dict[tuple[str, str], FoundRegion] = {}
    for one in (region for of_file in found for region in of_file):
        known = regions.get(one.key)
        if known is not None:
            findings = tuple(dict.fromkeys((*known.findings, *one.findings)))
            one = replace(known, findings=findings, calls=known.calls | one.calls)
        regions[one.key] = one
    callers: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for one in regions.values():
        for called in one.calls & regions.keys():
            callers.setdefault(called, set()).add(one.key)
    return tuple(one for one in regions.values() if not _is_part(one, [regions[k] for k in callers.get(one.key, ())]))


def _is_part(one: FoundRegion, callers: Iterable[FoundRegion]) -> bool:
    """Whether ``one`` is a part of others, which call it and have all of its findings."""
    others = [caller for caller in callers if caller.key not in one.calls | {one.key}]
    return bool(others) and {key for caller in others for key in caller.findings}.issuperset(one.findings)


def rank(confidence: Confidence, severity: Severity) -> tuple[int, int]:
    """Of several paths to one place the finding with the lowest rank is shown: the surest, then the most severe."""
    return CONFIDENCES.index(confidence), SEVERITIES.index(severity)


def _surer(one: Finding, other: Finding) -> bool:
    return rank(one.confidence, one.severity) < rank(other.confidence, other.severity)
