"""Passes the events of a file to the rules, and collects their hits by rule and place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from graphdoctor.breaks.measured_costs import behind
from graphdoctor.lint.result import CONFIDENCES, SEVERITIES
from graphdoctor.model.findings import Severity
from graphdoctor.static.domain.events import Block, Call, Caller, Compile, Event, Site
from graphdoctor.static.interp.interpreter import Budget
from graphdoctor.static.interp.state.event_sink import EventSink
from graphdoctor.static.rule import Hit, Rule
from graphdoctor.syntax.arms import comes_first
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.passed_over import may_be_passed_over

TOO_LARGE = "too large to analyse completely; what was found so far is reported"

#: A rule, and its function for the events of one class.
_Check = tuple[Rule, Callable[[Any], Any]]

#: A file and a function in it.
_FunctionKey = tuple[str, str]

#: A line and a column.
_Start = tuple[int, int]


@dataclass(frozen=True)
class Place:
    """All hits of one rule at one node. ``fullgraph``: all of them are in code compiled with ``fullgraph=True``."""

    rule: Rule
    hits: tuple[Hit, ...]
    fullgraph: bool = False


class Checks:
    """The rules that look at an event, and the functions with which they check it."""

    def __init__(self, active: tuple[Rule, ...]) -> None:
        self._active = active
        self._known: dict[type[Event] | str, list[_Check]] = {}

    def of(self, kind: type[Event], qualname: str = "") -> list[_Check]:
        """The checks for an event of this class; for a call those that watch its name."""
        key = qualname if kind is Call else kind
        found = self._known.get(key)
        if found is None:
            name = kind.__name__.lower()
            found = [(rule, rule.checks[name]) for rule in self._active if name in rule.checks]
            if kind is Call:
                found = [(rule, listener) for rule, check in found if (listener := _watching(rule, check, qualname))]
            self._known[key] = found
        return found


def _watching(rule: Rule, check: Callable[[Any], Any], name: str) -> Callable[[Any], Any] | None:
    """The check of ``rule`` for calls of ``name``; None where it does not watch them."""
    watches = rule.watches
    if watches is None:
        return check
    try:
        return check if watches(name) else None
    except (Exception, SystemExit):
        # It is called again for each event, and then fails where failures of rules are reported.
        return lambda event: watches(event.qualname)


class Audience(EventSink):
    """Passes the events of one file to the rules that subscribe to them."""

    def __init__(self, checks: Checks, trouble: list[str]) -> None:
        super().__init__()
        self._checks = checks
        self._trouble = trouble
        self._broken: set[str] = set()
        self.hits: list[tuple[Rule, Hit]] = []
        #: Which of the hits are in code that is compiled with ``fullgraph=True``, by number.
        self._fullgraph: set[int] = set()
        self.compiles: list[Event] = []

    def subscribes(self, kind: type[Event], qualname: str) -> bool:
        return kind is Compile or bool(self._checks.of(kind, qualname))

    def receive(self, event: Event) -> bool:
        ends = False
        if isinstance(event, Compile):
            self.others += 1
            self.compiles.append(event)
        for rule, check in self._checks.of(type(event), getattr(event, "qualname", "")):
            try:
                hit = check(event)
                if hit is None or rule.code in self._broken:
                    continue
                _check(hit)
                if not rule.holds(hit):
                    continue
            # A project's own rule may even end the process.
            except (Exception, SystemExit) as error:
                self.others += 1
                if rule.code not in self._broken:
                    self._broken.add(rule.code)
                    self._trouble.append(f"rule {rule.code} failed here ({one_line(error)}); its findings are missing")
                continue
            if event.site.untaken:
                hit = replace(hit, confidence="possible")
            self.hits.append((rule, hit))
            ends |= _breaks(rule, hit)
        return ends

    def hits_of_call(self, first: int, callers: int) -> tuple[tuple[Rule, Hit], ...]:
        """The hits from number ``first`` on, those of a call with so many callers, without these."""
        return tuple(_with_callers(self.hits[first:], lambda known: known[callers:]))

    def repeat(
        self, hits: Sequence[tuple[Rule, Hit]], before: Block | None, now: Block | None, callers: tuple[Caller, ...]
    ) -> None:
        """Note ``hits`` again, of a call with these ``callers``.

        The rules are asked once more where their messages name the block ``before``.
        """
        asked = None
        for rule, hit in _with_callers(hits, lambda known: (*callers, *known)):
            event = hit.event
            if before == now or event.site.whole_frame != before:
                self.hits.append((rule, hit))
            elif event is not asked:
                asked = event
                self.receive(replace(event, site=replace(event.site, whole_frame=now)))

    @contextmanager
    def compiling(self, fullgraph: bool) -> Iterator[None]:
        """Note which hits are in code that is compiled with ``fullgraph=True``."""
        first = len(self.hits)
        try:
            yield
        finally:
            if fullgraph:
                self._fullgraph.update(range(first, len(self.hits)))

    @contextmanager
    def only_offered(self, source: SourceModule) -> Iterator[None]:
        """Keep only the hits that are errors, for a public function of a library that is defined in ``source``.

        Not even these where the function itself prepares a program (``SETUP`` in a rule), since users do not compile it
        then. What it calls may do so to set itself up, and so may the backward of an autograd function.
        """
        first = len(self.hits)
        try:
            yield
        finally:
            found = self.hits[first:]
            compiled = not any(rule.setup and _is_own_step(hit.event.site, source) for rule, hit in found)
            self.hits[first:] = [each for each in found if compiled and severity_of(*each) == "error"]

    def places(self) -> list[Place]:
        """The hits, by rule and node; of those after a hit that ends their function it is said."""
        found: dict[tuple[str, int], tuple[Rule, list[int]]] = {}
        ends = self._ends()
        shown: dict[int, Hit] = {}
        for number, (rule, hit) in enumerate(self.hits):
            before = [(code, end) for code, end in ends.get(_function(hit), ()) if _ends_before(end, hit)]
            if rule.leaves_function and any(code == rule.code for code, _ in before):
                continue
            found.setdefault((rule.code, id(hit.place)), (rule, []))[1].append(number)
            cost = behind(hit.consequence, min(_start(end) for _, end in before)[0]) if before else hit.consequence
            shown[number] = hit if cost == hit.consequence else replace(hit, consequence=cost)
        places = [
            Place(rule, tuple(shown[number] for number in numbers), self._fullgraph.issuperset(numbers))
            for rule, numbers in found.values()
        ]
        return [place for place in places if place.fullgraph or not place.hits[0].only_fullgraph]

    def _ends(self) -> dict[_FunctionKey, list[tuple[str, Hit]]]:
        """By function the hits that surely end it, with the codes of their rules: nothing after one is traced."""
        found: dict[_FunctionKey, list[tuple[str, Hit]]] = {}
        for rule, hit in self.hits:
            if rule.leaves_function and _breaks(rule, hit):
                found.setdefault(_function(hit), []).append((rule.code, hit))
        return found


def _with_callers(
    hits: Iterable[tuple[Rule, Hit]], change: Callable[[tuple[Caller, ...]], tuple[Caller, ...]]
) -> Iterator[tuple[Rule, Hit]]:
    """``hits`` with other callers in their events; those of one event still share one."""
    changed: dict[int, Event] = {}
    for rule, hit in hits:
        event = changed.get(id(hit.event))
        if event is None:
            site = hit.event.site
            event = changed[id(hit.event)] = replace(hit.event, site=replace(site, callers=change(site.callers)))
        yield rule, replace(hit, event=event)


def _is_own_step(site: Site, source: SourceModule) -> bool:
    """Whether it happens in ``source``, and not in a backward, which runs where gradients are computed."""
    running = (site.function, *(caller.function for caller in site.callers))
    return site.module is source and not any(name.endswith(".backward") for name in running)


def _ends_before(end: Hit, hit: Hit) -> bool:
    """Whether ``end`` runs whenever its function comes to ``hit``, and before it."""
    if _start(end) >= _start(hit):
        return False
    if not end.event.site.conditional:
        return True
    # The whole call may be under a condition, which both share.
    module = end.event.site.module
    place = module.location(end.place)
    span = (place.line, place.column, place.end_line, place.end_column)
    first = comes_first(module.text, place.line, _start(hit)[0])
    return first and not may_be_passed_over(module.text, span)


def _function(hit: Hit) -> _FunctionKey:
    return str(hit.event.site.module.file), hit.event.site.function


def _start(hit: Hit) -> _Start:
    place = hit.event.site.module.location(hit.place)
    return place.line, place.column


def _breaks(rule: Rule, hit: Hit) -> bool:
    """Whether the graph ends at ``hit``, as far as it is known."""
    error = severity_of(rule, hit) == "error" and hit.confidence != "possible"
    return error and bool(hit.gb_ids or rule.gb_ids) and hit.event.site.compiled


def severity_of(rule: Rule, hit: Hit) -> Severity:
    """That of the hit where it has one, else that of its rule."""
    return hit.severity or rule.severity


@contextmanager
def contained(trouble: list[str]) -> Iterator[None]:
    """Note what goes wrong inside, a defect of graphdoctor too: it costs neither other files nor what was found."""
    try:
        yield
    except Budget:
        trouble.append(TOO_LARGE)
    except RecursionError:
        trouble.append("too deeply nested to analyse completely; what was found so far is reported")
    except Exception as error:
        trouble.append(f"internal error ({one_line(error)}); what was found so far is reported")


def _check(hit: object) -> None:
    """Raises TypeError or ValueError where a rule returned what it may not."""
    if not isinstance(hit, Hit):
        raise TypeError(f"a check returns a Hit or None, not {type(hit).__name__}")
    if hit.confidence not in CONFIDENCES or hit.severity not in (None, *SEVERITIES):
        raise ValueError(f"no confidence {hit.confidence!r} or no severity {hit.severity!r}")


def one_line(error: BaseException) -> str:
    """The type and the text of ``error``."""
    return " ".join(f"{type(error).__name__}: {error}".split())
