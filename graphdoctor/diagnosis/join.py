"""Brings together what the static pass expects and what the runs saw: every finding gets a status.

Pure. A break belongs to the finding whose range contains it; the frames of its user stack are tried innermost first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphdoctor.breaks.measured_costs import measured, measured_rest, not_reached_yet, split, unmeasured
from graphdoctor.diagnosis import exports, unexpected
from graphdoctor.diagnosis.numpy_scalars import with_cause
from graphdoctor.diagnosis.recompile_causes import guarded_by
from graphdoctor.diagnosis.sites import (
    all_sites,
    called_from,
    dropped_names,
    functions_of,
    last,
    share_comprehension,
    sites,
)
from graphdoctor.diagnosis.unexpected import RuleText
from graphdoctor.model.findings import Finding, Location
from graphdoctor.syntax.arms import are_exclusive
from graphdoctor.syntax.jumps import tests_below
from graphdoctor.syntax.passed_over import may_be_passed_over

if TYPE_CHECKING:
    from graphdoctor.diagnosis.sites import Site
    from graphdoctor.model.runs import Break, DynamicRun
    from graphdoctor.static.rule import Rule

#: Dynamo gives these ids when it drops a whole frame (a break in a loop, in a context manager); the cause is hidden.
HIDING = frozenset({"GB7000", "GB0066"})
#: After such a break the rest of the function runs in eager, and is not traced: a recurrent layer.
LEAVES_THE_REST = frozenset({"GB0014"})

#: Ids that tell what Dynamo met and not which code is the cause, so many causes end in them: an argument or a key that
#: it cannot take, an object that it cannot compare, set or make again. A rule may expect them, but owns none of them.
OF_MANY_CAUSES = frozenset((
    "GB0087", "GB0112", "GB0117", "GB0148", "GB0193", "GB0207", "GB0299", "GB0467", "GB3934", "GB4880", "GB6215",
    "GB7312", "GB8335", "GB9648",
))  # fmt: skip


#: An operator fails on tensors without data.
OPERATOR_FAILS = "GB4315"


def rule_texts(rules: Iterable[Rule]) -> dict[str, RuleText]:
    """The rule behind each graph-break id, and function of torch with a break, that exactly one of ``rules`` owns."""
    owners: dict[str, list[RuleText]] = {}
    for rule in rules:
        for owned in (*rule.gb_ids, *rule.inside):
            owners.setdefault(owned, []).append(RuleText(rule.code, rule.name, rule.why, rule.how))
    return {owned: texts[0] for owned, texts in owners.items() if len(texts) == 1 and owned not in OF_MANY_CAUSES}


def of_fullgraph(rules: Iterable[Rule]) -> frozenset[str]:
    """The codes of those rules whose findings break nothing by default, only with ``fullgraph=True``."""
    return frozenset(rule.code for rule in rules if rule.fullgraph)


def of_varying(rules: Iterable[Rule]) -> frozenset[str]:
    """The codes of those rules whose breaks only come once a size has varied."""
    return frozenset(rule.code for rule in rules if rule.varying)


def join(
    findings: Sequence[Finding],
    runs: Sequence[DynamicRun],
    rules: Mapping[str, RuleText],
    fullgraph: frozenset[str] = frozenset(),
    varying: frozenset[str] = frozenset(),
    texts: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Finding, ...]:
    """``findings`` with their status, and one more for each break that none of them expected.

    ``rules`` maps a graph-break id to the rule that alone owns it. Findings of rules without graph-break ids (usage,
    recompiles) stay "static-only"; a recompile at the line confirms one about recompiles. Those of the rules
    ``fullgraph`` are judged by ``fullgraph=True``; a run, which has one size, refutes none of the rules ``varying``,
    and none in an operand that its line may run without, as ``texts``, the sources by path, show.
    """
    if not runs:
        return tuple(findings)
    found = sites(runs)
    raising = {(run.raised_at.path, run.raised_at.line) for run in runs if run.raised_at and run.fails_compiled}
    index, functions = _by_path(findings), _functions_of_torch(rules)
    seen: dict[int, list[Site]] = {}
    #: How many of them the calls of the sample have, which the verdict counts.
    places: Counter[int] = Counter()
    extra: list[Finding] = []
    for number, site in enumerate(all_sites(runs)):
        match = _match(site.first, _explaining(site.first, index, functions), texts)
        if match is None:
            finding = unexpected.of(site, rules, raises=(site.first.path, site.first.line) in raising)
            with_others = replace(finding, fact=f"{finding.fact} (only in calls with other inputs)")
            extra.append(with_cause(finding if number < len(found) else with_others, [site]))
        else:
            seen.setdefault(id(match), []).append(site)
            places[id(match)] += number < len(found)
    traced = _Traced(runs, found, fullgraph, varying, texts)
    joined = [
        with_cause(_confirm(f, seen[id(f)], places[id(f)], expected=f.rule not in varying), seen[id(f)])
        if id(f) in seen
        else traced.judge(f)
        for f in findings
    ]
    found_by_break = (*joined, *(unexpected.beside(f, joined) for f in extra))
    return (*found_by_break, *exports.unexpected(found_by_break, runs, rules))


def _by_path(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    index: dict[str, list[Finding]] = {}
    for finding in findings:
        index.setdefault(finding.location.path, []).append(finding)
    return index


def _functions_of_torch(rules: Mapping[str, RuleText]) -> dict[str, set[str]]:
    """The functions of torch, by the rule that knows why the graph ends in them."""
    functions: dict[str, set[str]] = {}
    for owned, text in rules.items():
        if not owned.startswith("GB"):
            functions.setdefault(text.code, set()).add(owned)
    return functions


def _explaining(
    brk: Break, index: dict[str, list[Finding]], functions: Mapping[str, set[str]]
) -> dict[str, list[Finding]]:
    """``index`` without what is about other functions of torch than the one in which the graph ends."""
    within = unexpected.in_torch(brk)
    others = {rule for rule, known in functions.items() if within is not None and within.function not in known}
    here = [f for f in index.get(brk.path, ()) if f.rule not in others]
    return {**index, brk.path: here} if others else index


def _match(brk: Break, index: Mapping[str, Sequence[Finding]], texts: Mapping[str, str]) -> Finding | None:
    """The finding that explains ``brk``: around it; else, where the rule expects its id, on its line or at a caller.

    A jump carries the position of its whole statement, which begins left of the condition that the finding marks, or
    on a line above it.
    """
    here = [f for f in index.get(brk.path, ()) if _may_break(f, brk) and _contains(f.location, brk.line, brk.column)]
    beside = [
        f for f in index.get(brk.path, ()) if brk.gb_id in f.gb_ids and _contains(f.location, brk.line, column=None)
    ]
    # A condition in an argument: the call around it has a cause of its own.
    inner = [
        f for f in beside if brk.column is not None and (brk.line, brk.column) < (f.location.line, f.location.column)
    ]
    if here and (not inner or any(_expects(f, brk) for f in here)):
        return min(here, key=lambda f: _distance(f, brk))
    beside = inner if here else beside
    below = tests_below(texts.get(brk.path, ""), brk.line) if brk.gb_id is not None and not beside else ()
    beside = beside or [
        f
        for f in index.get(brk.path, ())
        if brk.gb_id in f.gb_ids and any(first <= f.location.line <= last for first, last in below)
    ]
    if beside:
        return min(beside, key=lambda f: _distance(f, brk))
    for frame in reversed(brk.stack):
        callers = [
            f
            for f in index.get(frame.path, ())
            if brk.gb_id in f.gb_ids and _contains(f.location, frame.line, None) and frame.path != brk.path
        ]
        if callers:
            return min(callers, key=lambda f: _distance(f, brk))
    return _only_usage_finding(brk, index)


def _only_usage_finding(brk: Break, index: Mapping[str, Sequence[Finding]]) -> Finding | None:
    """A break inside a library that no line of the scanned code calls: how the library was set up may explain it."""
    if brk.owner == "own":
        return None
    usage = [f for found in index.values() for f in found if is_usage(f) and brk.gb_id in f.gb_ids]
    return usage[0] if len(usage) == 1 else None


def is_usage(finding: Finding) -> bool:
    """True for the rules GD6xx: they look at how a model is built and compiled, not at what is traced."""
    return finding.rule.startswith("GD6")


def is_about_recompiles(finding: Finding) -> bool:
    """True for the rules GD7xx, of which no graph break is expected."""
    return finding.rule.startswith("GD7") and not finding.gb_ids


def _may_break(finding: Finding, brk: Break) -> bool:
    """Rules without graph-break ids are not about breaks, unless Dynamo gave the break no id either, or an operator
    failed while it was traced, which is what such rules about compiled code say of it.
    """
    if finding.gb_ids or brk.gb_id is None:
        return True
    return brk.gb_id == OPERATOR_FAILS and not (is_usage(finding) or is_about_recompiles(finding))


def _contains(place: Location, line: int, column: int | None) -> bool:
    if column is None:
        return place.line <= line <= place.end_line
    return (place.line, place.column) <= (line, column) < (place.end_line, place.end_column)


def _expects(finding: Finding, brk: Break) -> bool:
    return brk.gb_id is None or brk.gb_id in HIDING or brk.gb_id in finding.gb_ids


def _distance(finding: Finding, brk: Break) -> tuple[bool, bool, int, int, bool]:
    """Smaller is nearer: expected id where there are no columns, exact start, smallest range, expected id."""
    place = finding.location
    expected = _expects(finding, brk)
    exact = brk.column is not None and (place.line, place.column) == (brk.line, brk.column)
    size = (place.end_line - place.line, place.end_column - place.column)
    return (brk.column is None and not expected, not exact, *size, not expected)


def _confirm(finding: Finding, seen: Sequence[Site], places: int, *, expected: bool) -> Finding:
    causes = {s.first.gb_id for s in seen if s.first.gb_id is not None and s.first.gb_id not in HIDING}
    # What was not sure enough to be called an error is sure now.
    is_error = (finding.confidence == "possible" or not expected) and seen[0].first.owner == "own"
    seen = [_without_callees(finding, site) for site in seen]
    dropped, whole = dropped_names(seen), any(s.whole_frame and not s.rest for s in seen)
    cost = measured(finding.consequence, dropped) if whole else split(finding.consequence, places)
    if not whole and any(s.rest for s in seen):
        dropped, cost = (), measured_rest(finding.consequence, dropped[-1] if dropped else finding.function)
    return replace(
        finding,
        consequence=cost,
        status="confirmed",
        severity="error" if is_error else finding.severity,
        confidence="certain",
        owner=finding.owner if _is_way_in(finding, seen[0].first) else seen[0].first.owner,
        events=sum(s.events for s in seen),
        gb_ids=tuple(sorted(causes)) or finding.gb_ids,
        whole_frame=whole,
        dropped=dropped,
        called_from=called_from(seen[0].first, finding.location) or finding.called_from,
    )


def _without_callees(finding: Finding, site: Site) -> Site:
    """``site`` without the functions of a library that the line calls, and that were given up: its own is split."""
    place, stack = finding.location, site.first.stack
    lines = [i for i, f in enumerate(stack) if f.path == place.path and place.line <= f.line <= place.end_line]
    if site.first.owner == "own" or not site.dropped or not lines:
        return site
    around = {(frame.path, frame.function) for frame in stack[: lines[-1] + 1]}
    dropped = tuple(frame for frame in site.dropped if (frame.path, frame.function) in around)
    return replace(
        site, dropped=dropped, whole_frame=site.whole_frame and bool(dropped), rest=site.rest and bool(dropped)
    )


def _is_way_in(finding: Finding, brk: Break) -> bool:
    """Whether a line of the user's, of which a rule says what to do there, led to a break in a library."""
    return finding.owner == "own" and finding.location.path == brk.path


class _Traced:
    """What the runs show about lines at which nothing broke."""

    def __init__(
        self,
        runs: Sequence[DynamicRun],
        found: Sequence[Site],
        fullgraph: frozenset[str],
        varying: frozenset[str],
        texts: Mapping[str, str],
    ) -> None:
        self.texts = texts
        self.fullgraph = fullgraph
        self.varying = varying
        self.verdicts = [run.fullgraph for run in runs]
        self.all_ok = all(run.outcome == "ok" for run in runs)
        self.all_compiled = all(run.graphs > 0 for run in runs)
        self.none_compiled = not any(run.graphs > 0 for run in runs)
        self.executed = [run.executed for run in runs]
        self.traced_only = any(run.traced_only for run in runs)
        self.places = [s.first for s in found]
        self.not_exported = {(e.path, e.line) for run in runs for e in run.export if e.outcome == "failed"}
        recompiles = [recompile for run in runs for recompile in run.recompiles]
        self.recompiled = {(r.path, r.line) for r in recompiles}
        self.changed = {guarded for recompile in recompiles if (guarded := guarded_by(recompile)) is not None}
        #: Functions that Dynamo gave up as a whole: behind the break, it never looked at their lines.
        whole = [s for s in found if s.whole_frame and not s.is_in_comprehension]
        self.dropped = {place for s in whole for place in functions_of(s.first)}
        self.ended = [s.first for s in found if s in whole or s.first.gb_id in LEAVES_THE_REST]
        self.in_comprehensions = [s.first for s in found if s.is_in_comprehension]
        #: Where functions were given up: path, function, line, and the line that breaks, mostly the same.
        self.ends = {(b.path, b.function, b.line, b.line) for b in self.ended}
        for s in found:
            for frame in s.dropped:
                line = s.first.line if s.first.path == frame.path else frame.line
                self.ends.add((frame.path, frame.function, frame.line, line))

    def judge(self, finding: Finding) -> Finding:
        """Refuted, not reached, or still static only."""
        judged = self._judged(finding)
        if judged.status == "confirmed" or not self.none_compiled:
            return judged
        return replace(judged, consequence=unmeasured(judged.consequence))

    def _judged(self, finding: Finding) -> Finding:
        place = finding.location
        lines = {(place.path, line) for line in range(place.line, place.end_line + 1)}
        if is_about_recompiles(finding) and (lines & self.recompiled or finding.guarded in self.changed):
            return replace(finding, status="confirmed")
        if lines & self.not_exported:
            # It breaks nothing under torch.compile, and is right all the same.
            return finding
        if not finding.gb_ids or is_usage(finding) or finding.rule in self.varying or not self.all_ok:
            return finding
        watched = [lines.get(place.path) for lines in self.executed]
        if not watched or any(lines is None for lines in watched):
            return finding
        ran = [bool(lines and not lines.isdisjoint(range(place.line, place.end_line + 1))) for lines in watched]
        if not any(ran):
            judged = self._not_reached_yet(finding)
            return judged if self.traced_only and self._is_given_up(finding) else replace(judged, status="not-reached")
        if finding.rule in self.fullgraph:
            if self._fails_at(place):
                return replace(finding, status="confirmed", confidence="certain", severity="error")
            if not all(v.passes for v in self.verdicts):
                # Compiling ended before, or was not tried.
                return finding
        if all(ran) and self.all_compiled and not self._is_doubtful(finding):
            span = (place.line, place.column, place.end_line, place.end_column)
            if may_be_passed_over(self.texts.get(place.path, ""), span):
                return finding
            return replace(finding, status="refuted", severity="info")
        return self._not_reached_yet(finding)

    def _not_reached_yet(self, finding: Finding) -> Finding:
        """``finding``, worded for a line after the one where Dynamo gave its function up.

        A line of which a call runs either that one or this one does not wait for it.
        """
        place = finding.location
        text = self.texts.get(place.path, "")
        ends = [end for end in self._ends(finding) if not are_exclusive(text, end[0], place.line)]
        at, line = min(ends, default=(place.line, 0))
        if at >= place.line or self._fails_at(place):
            # With fullgraph=True compiling gets as far as the line where it fails.
            return finding
        return replace(finding, consequence=not_reached_yet(finding.consequence, line))

    def _ends(self, finding: Finding) -> list[tuple[int, int]]:
        """Where Dynamo gave up the function of ``finding``: the line in it, and the line that breaks."""
        key = (finding.location.path, finding.function)
        return [(at, line) for path, function, at, line in self.ends if (path, function) == key]

    def _is_given_up(self, finding: Finding) -> bool:
        """Whether ``finding`` lies in code that Dynamo left to eager, where its line may have run untraced."""
        place, function = finding.location, last(finding.function)
        dropped = (place.path, function) in self.dropped
        if dropped or any(at < place.line for at, _ in self._ends(finding)):
            return True
        # A call that breaks inside runs as a function of its own, which Dynamo may leave alone.
        return any(
            (b.path, last(b.function)) == (place.path, function) and b.line < place.line and len(b.stack) > 1
            for b in self.places
        )

    def _fails_at(self, place: Location) -> bool:
        """Whether fullgraph=True fails at ``place``."""
        return any(v.path == place.path and v.line and _contains(place, v.line, None) for v in self.verdicts)

    def _is_doubtful(self, finding: Finding) -> bool:
        """Never traced, or next to a break whose column is not known."""
        place = finding.location
        if (place.path, last(finding.function)) in self.dropped:
            return True
        function = last(finding.function)
        if any(share_comprehension(self.texts.get(b.path, ""), b, place) for b in self.in_comprehensions):
            return True
        before = [b for b in self.places if b.path == place.path and b.line <= place.end_line]
        in_function = [b for b in before if last(b.function) == function]
        if any(b.gb_id not in finding.gb_ids or (b in self.ended and b.line < place.line) for b in in_function):
            # What is left of a function after a break is not traced when it has no tensor.
            return True
        return any(b.path == place.path and b.column is None and _contains(place, b.line, None) for b in self.places)
