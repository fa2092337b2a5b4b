"""Which models of a scan break, and in which nothing is predicted to: what a reader of many findings needs first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphdoctor.report.wording import enumerated, plural

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding, Region

#: So many models are named that break, and so many models and functions in which nothing is predicted to.
_MOST_AFFECTED = 8
_MOST_CLEAN = 5


@dataclass(frozen=True)
class Affected:
    """A model or function that is compiled by itself, with the ``findings`` in the code that it runs."""

    region: Region
    findings: tuple[Finding, ...]
    #: The models before it under which all of its findings stand; empty where some stand under it.
    under: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """``Net (model.py:12)``."""
        return f"{self.region.name} ({self.region.path}:{self.region.line})"

    @property
    def counted(self) -> str:
        """``4 breaks``, or what else there is."""
        counts = Counter(f.severity if f.severity != "error" or f.gb_ids else "other" for f in self.findings)
        words = {"error": "break", "other": "error", "warning": "warning", "info": "note"}
        return next(plural(counts[kind], word) for kind, word in words.items() if counts[kind])

    @property
    def remark(self) -> str:
        """Why it is hardly meant to be compiled, or where its findings stand; mostly empty."""
        if self.region.host:
            return f"it calls `{self.region.host}`, so it is code around a model: compile the models that it calls"
        if not self.under:
            return ""
        return f"in code that {enumerated(self.under)} {'runs' if len(self.under) == 1 else 'run'}, too"


@dataclass(frozen=True)
class Overview:
    """``affected`` are the models to look at first, ``more`` the number of others with findings; ``clean`` are those in
    which no break is predicted, the largest first, ``clean_functions`` functions that are compiled by themselves.
    """

    affected: tuple[Affected, ...]
    more: int
    clean: tuple[Region, ...]
    clean_functions: tuple[Region, ...] = ()
    #: The names of those that compile parts of themselves.
    in_parts: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What is said of the models without a row."""
        return " ".join(filter(None, (self.none_in, self.compiled_in_parts)))

    @property
    def none_in(self) -> str:
        """``No break is predicted in the code of 16 models: DETR and 15 more.``; empty where there is none."""
        others = "other " if self.affected else ""
        kinds = (("model", self.clean), ("function", self.clean_functions))
        named = [
            f"{plural(len(found), others + kind)}: {_first([region.name for region in found])}"
            for kind, found in kinds
            if found
        ]
        return f"No break is predicted in the code of {'; and of '.join(named)}." if named else ""

    @property
    def compiled_in_parts(self) -> str:
        """``Boltz compiles parts of itself: only these are judged.``; empty where no model does."""
        if not self.in_parts:
            return ""
        names = _first(self.in_parts)
        compile_parts = "compiles parts of itself" if len(self.in_parts) == 1 else "compile parts of themselves"
        return f"{names} {compile_parts}: only these parts are judged."


def _first(names: Sequence[str]) -> str:
    """``DETR, Net and 15 more``."""
    shown, more = names[:_MOST_CLEAN], len(names) - _MOST_CLEAN
    return enumerated([*shown, f"{more:,} more"] if more > 0 else shown)


def overview(diagnosis: Diagnosis) -> Overview | None:
    """The models of a scan that ran nothing; None where there is nothing to say of them, such as where the findings are
    all of one.

    A run says itself what breaks in its model, and of a comparison the reader wants what is new.
    """
    if diagnosis.dynamic is not None or diagnosis.comparison is not None:
        return None
    found = affected(diagnosis)
    clean = sorted(_without_findings(diagnosis), key=lambda region: -region.functions)
    in_parts = tuple(dict.fromkeys(region.name for region in diagnosis.regions if region.compiles_parts))
    if len(diagnosis.regions) < (2 if found else 1):
        return None
    if not found and not clean and not in_parts:
        return None
    return Overview(
        tuple(found[:_MOST_AFFECTED]),
        len(found) - len(found[:_MOST_AFFECTED]),
        tuple(region for region in clean if region.is_module),
        tuple(region for region in clean if not region.is_module),
        in_parts,
    )


def affected(diagnosis: Diagnosis) -> list[Affected]:
    """The models with findings in the user's own code: those with most errors first, code around models last."""
    known = {finding.fingerprint: finding for finding in _own(diagnosis)}
    rows = [
        Affected(region, tuple(known[mark] for mark in region.findings if mark in known))
        for region in diagnosis.regions
    ]
    return list(_with_others(sorted((row for row in rows if row.findings), key=_order)))


def _with_others(rows: Iterable[Affected]) -> Iterator[Affected]:
    """``rows``, of which those say so that come after models with the same findings."""
    first: dict[str, Region] = {}
    for row in rows:
        holders = dict.fromkeys(first.setdefault(finding.fingerprint, row.region) for finding in row.findings)
        yield row if row.region in holders else replace(row, under=tuple(region.name for region in holders))


def _order(row: Affected) -> tuple[bool, int, int, int]:
    errors = sum(finding.severity == "error" for finding in row.findings)
    return bool(row.region.host), -errors, -len(row.findings), -row.region.functions


def around_models(diagnosis: Diagnosis) -> frozenset[str]:
    """The fingerprints of the findings that lie only in what is hardly meant to be compiled."""
    around, inside = set[str](), set[str]()
    for region in diagnosis.regions:
        (around if region.host else inside).update(region.findings)
    return frozenset(around - inside)


def by_model(diagnosis: Diagnosis, findings: Iterable[Finding]) -> list[tuple[Affected | None, list[Finding]]]:
    """``findings`` under the first model that runs their code, in the order of ``affected``; None for all others.

    Of one model those of one file and function stand together, in the order of their lines.
    """
    rows = affected(diagnosis)
    first: dict[str, int] = {}
    for number, row in enumerate(rows):
        for finding in row.findings:
            first.setdefault(finding.fingerprint, number)
    groups: dict[int, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(first.get(finding.fingerprint, len(rows)), []).append(finding)
    return [
        (rows[number], _by_place(rows[number], groups[number])) if number < len(rows) else (None, groups[number])
        for number in sorted(groups)
    ]


def _by_place(row: Affected, findings: Sequence[Finding]) -> list[Finding]:
    """The file of the model first; each file once, its functions in the order of their first lines."""
    start: dict[tuple[str, str], int] = {}
    for finding in sorted(findings, key=lambda f: f.location.line):
        start.setdefault((finding.location.path, finding.function), finding.location.line)

    def key(finding: Finding) -> tuple[object, ...]:
        path = finding.location.path
        return path != row.region.path, path, start[path, finding.function], finding.function, finding.location

    return sorted(findings, key=key)


def _without_findings(diagnosis: Diagnosis) -> list[Region]:
    shown = [finding for finding in diagnosis.findings if finding.severity != "info"]
    marks = {finding.fingerprint for finding in shown}
    # Those in libraries stand under no region.
    callers = {(caller.path, caller.function) for f in shown if f.owner != "own" for caller in f.called_from}
    calling = {(path, function.partition(".")[0]) for path, function in callers}
    return [
        region
        for region in diagnosis.regions
        if not region.silenced and not region.compiles_parts and marks.isdisjoint(region.findings)
        if (region.path, region.name) not in calling
    ]


def _own(diagnosis: Diagnosis) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.owner == "own" and finding.status != "refuted"]
