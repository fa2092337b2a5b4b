"""The results of the static pass. Nothing here needs libcst, so that cached results are read quickly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from graphdoctor.model.findings import Confidence, Finding, ScannedFile, Severity

CONFIDENCES = get_args(Confidence)
SEVERITIES = get_args(Severity)

#: The path to show for a file, or None where its findings are not wanted.
PathOf = Callable[[Path], str | None]


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


def merged(results: Iterable[FileResult]) -> StaticResult:
    """All results together; of one rule at one place, which several files may lead to, the surest finding."""
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
            place = finding.location
            key = (finding.rule, place.path, place.line, place.column)
            if key not in findings or _surer(finding, findings[key]):
                findings[key] = finding
    ordered = sorted(findings.values(), key=lambda f: (f.location, f.rule))
    return StaticResult(tuple(scanned), tuple(ordered), helpers, judged, compiles)


def rank(confidence: Confidence, severity: Severity) -> tuple[int, int]:
    """Of several paths to one place the finding with the lowest rank is shown: the surest, then the most severe."""
    return CONFIDENCES.index(confidence), SEVERITIES.index(severity)


def _surer(one: Finding, other: Finding) -> bool:
    return rank(one.confidence, one.severity) < rank(other.confidence, other.severity)
