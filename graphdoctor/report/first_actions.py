"""What to do first: the few changes that remove most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from graphdoctor.breaks.locations import without_site
from graphdoctor.breaks.measured_costs import waits_for
from graphdoctor.breaks.recompiles.guards import comes_of_break
from graphdoctor.diagnosis.join import is_about_recompiles
from graphdoctor.diagnosis.recompile_causes import guarded_by
from graphdoctor.diagnosis.roots import roots
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import is_offered, label, setting_of
from graphdoctor.model.runs import Recompile
from graphdoctor.report.failure import Failure, failure
from graphdoctor.report.overview.affected import around_models
from graphdoctor.report.proof import goes_with_breaks, idle, mends
from graphdoctor.report.wording import (
    advice,
    dropped,
    enumerated,
    named,
    place,
    plural,
    recompile_effect,
    recompile_place,
    recompiles,
    remedy,
    sets_dynamo,
    whose,
)

#: What a run has shown.
_SEEN = frozenset({"confirmed", "dynamic-only"})
#: Between two clauses; not inside of code.
_CLAUSES = re.compile(r"; (?=(?:[^`]*`[^`]*`)*[^`]*$)")
#: Letters of what to do, from which on it is shortened.
_LONG = 160
_BEFORE_ALL = "until then nothing is compiled or measured"


@dataclass(frozen=True)
class Action:
    """One change: what to do, where, and what it would remove, for no run has tried it.

    ``finding`` is None for a recompile and for an exception.
    """

    title: str
    place: str
    effect: str
    finding: Finding | None = None
    recompile: Recompile | None = None


def first_actions(diagnosis: Diagnosis, limit: int = 5) -> tuple[Action, ...]:
    """At most ``limit`` actions, in the order of the findings, which come ranked.

    No action are findings that the run refuted or did not reach, notes, findings with the cause of another, and
    findings that the fixes of the report remove, since one command applies them. Nor are recompiles that end with a
    graph break, and the two compilations that training and evaluation need; of the others at least one is named. A fix
    that was tried and removes no graph break is not offered: where a run saw the finding, the action is the advice of
    its rule, else the finding is left out. In a scan without a run that has more actions than ``limit``, those that get
    the same advice are one action, and so are those that one setting of Dynamo records; code around models is left out.
    """
    failed = failure(diagnosis)
    removed = failed is not None and _is_removed_by_fixes(diagnosis)
    left = _left_to_do(diagnosis, failed.place if failed and removed else "")
    if diagnosis.dynamic is None and len(left) > limit:
        around = around_models(diagnosis)
        inside = [entry for entry in left if entry[0].fingerprint not in around]
        return tuple(_of_change(finding for finding, _ in same) for same in _by_change(inside or left))[:limit]
    broken = {finding.location.path for finding, _ in left if finding.status in _SEEN}
    met = recompiles(diagnosis.dynamic or ())
    repairs = _repairs(diagnosis, left, [recompile for recompile in met if _ends_with(broken, recompile)])
    places = {action.place for action in repairs}
    repairs = [_with_recompile(action, met) for action in repairs]
    explained = {guarded_by(action.recompile) for action in repairs if action.recompile is not None}
    # Recompiles come after the breaks that multiply them. What a finding is about, at its place or seen to change, is
    # its action.
    remedies = [
        _remedy(recompile)
        for recompile in met
        if remedy(recompile) and recompile_place(recompile) not in places
        if (guarded := guarded_by(recompile)) is None or guarded not in explained
        if not goes_with_breaks(recompile, diagnosis) and not _ends_with(broken, recompile)
        if recompile.kind != "state" or recompile.at_limit
    ]
    first, repairs = _first_of_all(diagnosis, None if removed else failed, repairs)
    # A recompile is of another kind than the breaks, so one is named however many breaks there are.
    room = limit - len(first)
    return tuple([*first, *repairs[: room - bool(remedies)], *remedies][:limit])


def _with_recompile(action: Action, met: Iterable[Recompile]) -> Action:
    """``action`` with what the recompile cost that its finding explains, where a run saw it."""
    finding = action.finding
    if finding is None or finding.guarded is None or finding.status not in _SEEN:
        return action
    seen = next((recompile for recompile in met if guarded_by(recompile) == finding.guarded), None)
    return action if seen is None else replace(action, effect=_of_recompile(seen), recompile=seen)


def _is_removed_by_fixes(diagnosis: Diagnosis) -> bool:
    """Whether what raises without the fixes does not raise with them."""
    verification = diagnosis.verification
    return bool(mends(diagnosis)) and verification is not None and verification.fullgraph_passes is True


def _left_to_do(diagnosis: Diagnosis, removed: str) -> list[tuple[Finding, int]]:
    """The findings that are actions, each with the number of others with its cause; none at the place ``removed``."""
    heads = roots(diagnosis.findings)
    shared = Counter(heads.values())
    mended, vain = mends(diagnosis), idle(diagnosis)
    return [
        (finding, shared[number] - 1)
        for number, finding in enumerate(diagnosis.findings)
        if _counts(finding) and heads[number] == number and finding.fingerprint not in mended
        if finding.status in _SEEN or finding.fingerprint not in vain
        if not removed or place(finding.location) != removed
    ]


def _repairs(diagnosis: Diagnosis, left: Sequence[tuple[Finding, int]], ending: Iterable[Recompile]) -> list[Action]:
    """The actions for the findings ``left`` to do; ``ending`` are the recompiles that end with graph breaks."""
    heads = roots(diagnosis.findings)
    waiting: dict[tuple[str, int], list[int]] = {}
    for number, finding in enumerate(diagnosis.findings):
        if heads[number] == number and (line := waits_for(finding)):
            waiting.setdefault((finding.location.path, line), []).append(finding.location.line)
    recompiled, vain = Counter(map(recompile_place, ending)), idle(diagnosis)
    seen = [finding for finding, _ in left if finding.status in _SEEN]
    if len(seen) == 1 and not mends(diagnosis):
        # Without the one break that was seen, none of them is left.
        recompiled[place(seen[0].location)] = recompiled.total()
    repairs: list[Action] = []
    for (finding, others), *alike in _by_advice(left):
        repair = _repair(
            finding,
            others,
            diagnosis.dynamic is not None,
            finding.fingerprint in vain,
            waiting.get((finding.location.path, finding.location.line), ()),
            recompiled[place(finding.location)] if finding.status in _SEEN else 0,
        )
        also = ", ".join(f"line {each.location.line}" for each, _ in alike)
        repairs.append(replace(repair, effect=f"{repair.effect}; the same for {also}") if also else repair)
    return repairs


def _by_advice(left: Iterable[tuple[Finding, int]]) -> list[list[tuple[Finding, int]]]:
    """The findings, each with those of its rule in the same function that get the same advice and that no run has seen.

    The stores of one cache are written one below the other, and one change mends them all.
    """
    groups: dict[tuple[str, ...], list[tuple[Finding, int]]] = {}
    for number, (finding, others) in enumerate(left):
        same: tuple[str, ...] = (finding.rule, finding.location.path, finding.function, finding.suggestion)
        if is_offered(finding) or not finding.suggestion or finding.owner != "own":
            same = (str(number),)
        elif finding.status in _SEEN and same in groups:
            same = (*same, str(number))
        groups.setdefault(same, []).append((finding, others))
    return list(groups.values())


def _first_of_all(
    diagnosis: Diagnosis, failed: Failure | None, repairs: list[Action]
) -> tuple[list[Action], list[Action]]:
    """The action that comes before all others, if there is one, and the rest of ``repairs``."""
    if failed is not None:
        known = next((action for action in repairs if _is_at(action, failed)), None)
        if known is None:
            return [_correct(failed)], repairs
        # What raises under torch.compile is a finding, which says more than that it is an error.
        return [replace(known, effect=_BEFORE_ALL)], [action for action in repairs if action is not known]
    if not diagnosis.summary.uneven or _is_even_with_fixes(diagnosis):
        return [], repairs
    even = _even(diagnosis, repairs)
    # One place is named once: the ranks are even, too, where the break is gone.
    return [even], [action for action in repairs if not (action.finding and action.finding is even.finding)]


def _is_even_with_fixes(diagnosis: Diagnosis) -> bool:
    """Whether the ranks differ by one graph break, which the verified fixes remove."""
    text, mended = diagnosis.summary.uneven, mends(diagnosis)
    gone = [
        f for f in diagnosis.findings if f.fingerprint in mended and text.startswith(f"{place(f.location)} breaks ")
    ]
    return bool(gone) and " other place" not in text


def _even(diagnosis: Diagnosis, repairs: Iterable[Action]) -> Action:
    """The action for ranks that do different things: they wait for each other, whatever else is fixed.

    Where a graph break of one of ``repairs`` is the reason, removing it is named as well.
    """
    text = diagnosis.summary.uneven
    here = (f for f in diagnosis.findings if text.startswith(f"{place(f.location)} "))
    finding = next(here, None)
    if finding is None:
        return Action(text, "", "no run has tried it")
    removes = any(action.finding is finding for action in repairs)
    how = f"apply its {label(finding.fix)} fix" if finding.fix and is_offered(finding) else "remove the graph break"
    return Action(text + (f"; or {how}" if removes else ""), place(finding.location), "no run has tried it", finding)


def _correct(failed: Failure) -> Action:
    """The error comes first: where the code does not run, nothing else can be measured."""
    title = failed.remedy if failed.has_remedy else f"correct the error: {failed.text}"
    return Action(title, failed.place, _BEFORE_ALL)


def _is_at(action: Action, failed: Failure) -> bool:
    """Whether ``action`` is for what failed: a run saw the finding there."""
    return action.place == failed.place and action.finding is not None and action.finding.status in _SEEN


def _ends_with(broken: Set[str], recompile: Recompile) -> bool:
    """Whether a recompile ends with the graph breaks in the files ``broken``: it is for a value that one left, or of a
    function that submodules share or a library has, which is compiled by itself because its caller breaks.
    """
    in_library = recompile.path is not None and without_site(recompile.path) != recompile.path
    calls_it = bool(broken) and all(without_site(path) == path for path in broken)
    ends = comes_of_break(recompile.guard, recompile.remedy)
    return (bool(broken) and ends) or (in_library and calls_it)


def _counts(finding: Finding) -> bool:
    return finding.severity != "info" and finding.status not in ("refuted", "not-reached")


def _by_change(left: Iterable[tuple[Finding, int]]) -> list[list[tuple[Finding, int]]]:
    """The findings by what is to be changed, the change for most places first."""
    groups: dict[tuple[str, ...], list[tuple[Finding, int]]] = {}
    for entry in left:
        finding = entry[0]
        setting = setting_of(finding.fix) if finding.fix is not None and is_offered(finding, owner=None) else ""
        groups.setdefault((setting,) if setting else (finding.rule, finding.suggestion), []).append(entry)
    return sorted(groups.values(), key=len, reverse=True)


def _of_change(findings: Iterable[Finding]) -> Action:
    """All findings that one change is for."""
    same = list(findings)
    first = same[0]
    files = len({finding.location.path for finding in same})
    fixes = Counter(label(f.fix) for f in same if f.fix is not None and is_offered(f, owner=None))
    codes = enumerated(sorted({finding.rule for finding in same}))
    parts = [
        f"{plural(len(same), 'finding')} of {codes} in {plural(files, 'file')}",
        *(plural(count, f"{kind} fix", f"{kind} fixes") for kind, count in fixes.items()),
    ]
    setting = setting_of(first.fix) if first.fix is not None and fixes else ""
    if setting:
        title = f"try `{setting}` once, before compiling (the findings say what else it changes)"
        return Action(title, place(first.location), "; ".join(parts), first)
    what = first.suggestion or first.message
    return Action(f"{first.name}: {what}", place(first.location), "; ".join(parts), first)


def _repair(finding: Finding, others: int, ran: bool, in_vain: bool, waiting: Sequence[int], ending: int) -> Action:
    """``others`` counts the findings that have the same cause, ``waiting`` has the lines of those to which compiling
    did not get because of this one, ``ending`` counts the recompile causes that come of the break; ``ran`` says whether
    there was a run.

    ``in_vain``: the fix of the finding was tried, and improves nothing.
    """
    subject = named(finding)
    what = finding.suggestion if in_vain else _in_short(advice(finding))
    title = f"{subject}: {what}" if subject and what else what or finding.message
    effect = _effect(finding, ran)
    if finding.owner != "own":
        title = f"{finding.message}. For {whose(finding)}: {title}"
        # What lies in a file of the library says so itself, and which line calls it.
        inside, _, _ = finding.message.partition(": ")
        calls = "the code is a library's, and this line of yours calls it"
        effect += f"; {inside if inside.startswith('in a library') else calls}"
    if others:
        effect += f"; {plural(others, 'more finding')} {'has' if others == 1 else 'have'} the same cause"
    if ending:
        effect += f"; {plural(ending, 'recompile cause')} {'goes' if ending == 1 else 'go'} with it"
    if waiting:
        lines = ", ".join(map(str, sorted(set(waiting))))
        effect += f"; line {lines} comes next, which compiling did not get to"
    return Action(title, place(finding.location), effect, finding)


def _in_short(text: str) -> str:
    """``text`` up to its first semicolon, where it is long; the finding has all."""
    first, *others = _CLAUSES.split(text)
    return f"{first} (the finding says what else)" if others and len(text) > _LONG else text


def _effect(finding: Finding, ran: bool) -> str:
    if finding.status not in _SEEN:
        return "effect unknown: not checked by a run" if ran else "effect unknown: only a run shows it"
    if is_about_recompiles(finding):
        return "would save recompiles"
    if not finding.events:
        # Nothing broke there by default.
        return "would let fullgraph=True get past it"
    # What a setting lets through is a number of tensor data, which may break at the next line that asks for it.
    sure = "would" if finding.owner == "own" or not sets_dynamo(finding) else "may"
    breaks = f"{sure} remove a graph break"
    # What is compiled then may break again, at a line that was not traced.
    return f"{breaks} that keeps {dropped(finding)} from being compiled at all" if finding.whole_frame else breaks


def _remedy(recompile: Recompile) -> Action:
    return Action(remedy(recompile), recompile_place(recompile), _of_recompile(recompile), recompile=recompile)


def _of_recompile(recompile: Recompile) -> str:
    return f"recompiles: {recompile.cause}; {recompile_effect(recompile)}"
