"""Static findings against the breaks of many runs: recall, precision, misses and false alarms. Pure but for sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.accuracy.statements import Statement, statement_at
from graphdoctor.diagnosis.join import HIDING, join
from graphdoctor.model.findings import Finding
from graphdoctor.model.runs import DynamicRun

#: "Missing tp_iternext": Python before 3.12 runs a comprehension as a function of its own. Dynamo compiles it alone,
#: and gives up, only when another break dropped the function around it.
_COMPREHENSION = "GB4347"

#: Stands for the id of a break that only fullgraph=True reports.
FULLGRAPH = "fullgraph=True only"

Runs = Mapping[str, Sequence[DynamicRun]]


@dataclass
class Tally:
    """A statement that broke: the ids Dynamo gave it, and the models it broke in."""

    gb_ids: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)

    @property
    def cause(self) -> str:
        """The id that names the cause: the ids of dropped frames hide it."""
        named = self.gb_ids - HIDING - {FULLGRAPH}
        return min(named or self.gb_ids - {FULLGRAPH} or self.gb_ids)


@dataclass(frozen=True)
class Score:
    """Statements: those that broke, and those with error findings that the runs confirm or refute."""

    broken: Mapping[Statement, Tally]
    confirmed: Mapping[Statement, frozenset[str]]
    refuted: Mapping[Statement, frozenset[str]]

    @property
    def predicted(self) -> set[Statement]:
        """The broken statements that have an error finding."""
        return set(self.broken) & set(self.confirmed)

    @property
    def missed(self) -> set[Statement]:
        """The broken statements that have none."""
        return set(self.broken) - set(self.confirmed)

    @property
    def recall(self) -> float | None:
        """The share of the broken statements that were predicted; None where nothing broke."""
        return _share(len(self.predicted), len(self.broken))

    @property
    def precision(self) -> float | None:
        """The share of the judged statements with findings that broke; None without any."""
        return _share(len(self.confirmed), len(self.confirmed) + len(self.refuted))

    def by_cause(self) -> dict[str, tuple[int, int]]:
        """For each graph-break id: the statements that broke, and those of them that were predicted."""
        broken = Counter(tally.cause for tally in self.broken.values())
        predicted = Counter(self.broken[statement].cause for statement in self.predicted)
        return {cause: (count, predicted[cause]) for cause, count in sorted(broken.items())}

    def by_rule(self) -> dict[str, tuple[int, int]]:
        """For each rule: the statements with findings that were judged, and those of them that broke."""
        right = Counter(rule for rules in self.confirmed.values() for rule in rules)
        wrong = Counter(rule for rules in self.refuted.values() for rule in rules)
        return {rule: (right[rule] + wrong[rule], right[rule]) for rule in sorted({*right, *wrong})}


def score(findings: Sequence[Finding], models: Runs, files: Iterable[str]) -> Score:
    """Compare error findings with what the runs of all ``models`` saw in ``files``.

    A finding counts as a false alarm where the join calls it refuted: its line ran in eager, Dynamo can have traced it,
    and nothing broke. Lines that were not reached count neither way.
    """
    errors = [f for f in findings if f.severity == "error" and f.gb_ids]
    broken = _broken(models, frozenset(files))
    rules: dict[Statement, set[str]] = {}
    for finding in errors:
        rules.setdefault(_of(finding), set()).add(finding.rule)
    refuted = {
        _of(finding)
        for runs in models.values()
        for run in runs
        for finding in join(errors, [run], {})
        if finding.status == "refuted"
    }
    return Score(
        broken=broken,
        confirmed={s: frozenset(r) for s, r in rules.items() if s in broken},
        refuted={s: frozenset(r) for s, r in rules.items() if s in refuted and s not in broken},
    )


def _broken(models: Runs, files: frozenset[str]) -> dict[Statement, Tally]:
    """The statements that break by themselves."""
    found: dict[Statement, Tally] = {}
    first: set[Statement] = set()
    for model, runs in models.items():
        for places in map(_places, runs):
            for place, (statement, gb_id) in enumerate(places):
                if statement.path in files and gb_id != _COMPREHENSION:
                    tally = found.setdefault(statement, Tally())
                    tally.gb_ids.add(gb_id)
                    tally.models.add(model)
                if place == 0 or gb_id == FULLGRAPH:
                    first.add(statement)
    harmless = _harmless(models)
    return {s: tally for s, tally in found.items() if s in first or s not in harmless}


def _harmless(models: Runs) -> set[Statement]:
    """What ran in models that are one graph. Where it breaks after another break, that one is the cause."""
    whole = [run for runs in models.values() for run in runs if run.graphs == 1 and not run.breaks]
    return {statement_at(path, line) for run in whole for path, lines in run.executed.items() for line in lines}


def _places(run: DynamicRun) -> list[tuple[Statement, str]]:
    """The breaks of a run in order. An exception without an id is no graph break, and its line is the outermost:
    where the default compile raises, that of fullgraph=True may be the same one.
    """
    places = [(statement_at(b.path, b.line), b.gb_id) for b in run.breaks if b.owner != "torch" and b.gb_id]
    failed = run.fullgraph
    if run.outcome == "ok" and failed.passes is False and failed.path and failed.line:
        places.append((statement_at(failed.path, failed.line), FULLGRAPH))
    return places


def _of(finding: Finding) -> Statement:
    return statement_at(finding.location.path, finding.location.line)


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None
