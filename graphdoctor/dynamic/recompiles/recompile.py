"""Recompiles of a plan of calls: the causes, and the number of compilations with each remedy."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from graphdoctor.breaks.grouping import of_calls
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.recompiles import compiled_calls, remedies
from graphdoctor.dynamic.recompiles.advice import advice
from graphdoctor.dynamic.recompiles.causes import Cause, causes, differs_by_instance, place, steps
from graphdoctor.dynamic.recompiles.compiled_calls import Call, NotApplicable, Remedy
from graphdoctor.dynamic.recompiles.sweep import Plan
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.dynamic.user_code.target import Mode, Target
from graphdoctor.dynamic.user_code.user_errors import fault_of
from graphdoctor.model.runs import Break, Recompile, Sweep, TriedRemedy


@dataclass(frozen=True)
class _Trial:
    """A remedy that was run; ``compilations`` is that of the frame at fault, None where it does not work."""

    remedy: Remedy
    compilations: int | None
    detail: str = ""
    #: A cause that Dynamo named only with the remedy: of several guards that fail it names the first.
    hidden: str = ""

    def shown(self) -> TriedRemedy:
        return TriedRemedy(self.remedy.text, self.compilations, self.detail or self.hidden)


class Probe:
    """Runs plans on one target in one mode; no further remedy is run after ``until`` (``time.monotonic``).

    ``broken`` are the graph breaks that are known before.
    """

    def __init__(
        self,
        target: Target,
        mode: Mode,
        backend: Callable[..., Any],
        places: Places,
        until: float = math.inf,
        broken: Sequence[Break] = (),
    ) -> None:
        self.target = target
        self.mode = mode
        self.backend = backend
        self.places = places
        self.until = until
        #: Causes that an automatic plan has found; the next ones meet them again.
        self._seen: set[tuple[str, str | None]] = set()
        self._broken = [*broken]

    def probe(self, plan: Plan) -> tuple[Sweep, tuple[Recompile, ...]]:
        """Run ``plan``, find the causes of recompiles, and run remedies. Raises what the user's code raises.

        Of an automatic plan only what Dynamo should not have had to compile again is a recompile; the rest goes into
        the sweep's detail.
        """
        calls = compiled_calls.run(self.target, self.mode, self.backend, plan.steps)
        found = causes(calls)
        normal = [cause for cause in found if plan.automatic and _is_normal(cause, plan)]
        bad = [cause for cause in found if cause not in normal and _key(cause) not in self._seen]
        if plan.automatic:
            self._seen |= {_key(cause) for cause in found if cause.guard.kind != "size"}
        trials = [self._trials(cause, plan, calls) for cause in bad]
        counts = compiled_calls.compilations(calls)
        most = max(counts.values(), default=0)
        made = tuple(
            self._recompile(cause, plan, counts[cause.code], tried) for cause, tried in zip(bad, trials, strict=True)
        )
        best = {trial.remedy.text: trial.remedy for tried in trials if (trial := _best(tried)) is not None}
        several = len(best) > 1 and time.monotonic() < self.until
        together = self._together(list(best.values()), plan, calls) if several else None
        detail = "; ".join(filter(None, [_unexpected(normal, found, plan), plan.detail]))
        events = [call.recording.events for call in calls]
        broken = of_calls(events, self.places, source_of, self._broken)
        self._broken += broken
        return Sweep(plan.varied, plan.automatic, len(calls), most, detail, together, steps(calls), broken), made

    def _trials(self, cause: Cause, plan: Plan, calls: list[Call]) -> list[_Trial]:
        """The remedies that were run. After one that leaves a single compilation only alternatives are."""
        tried: list[_Trial] = []
        done = False
        for remedy in remedies.candidates(cause, calls):
            if time.monotonic() > self.until:
                break
            failed = bool(tried) and tried[-1].compilations is None
            if remedy.alternative or (failed if remedy.fallback else not done):
                tried.append(self._try(remedy, cause, plan, calls))
                done = done or tried[-1].compilations == 1
        return tried

    def _try(self, remedy: Remedy, cause: Cause, plan: Plan, calls: list[Call]) -> _Trial:
        try:
            # What the calls other than the last one showed is known already.
            run = compiled_calls.run
            after = calls[:-1] if remedy.shorter else run(self.target, self.mode, self.backend, plan.steps, [remedy])
        except Exception as error:  # where the user's code raises, it is no suggested fix
            return _Trial(remedy, None, self._refusal(error))
        if compiled_calls.breaks_graph(after, calls):
            return _Trial(remedy, None, "it breaks the graph")
        if remedy.equal and not _equal(calls, after):
            return _Trial(remedy, None, "the outputs change")
        count = compiled_calls.compilations(after).get(cause.code)
        if not count:
            return _Trial(remedy, None, "the function is no longer compiled")
        known = {_key(other) for other in causes(calls)}
        hidden = next((other.guard.words for other in causes(after) if _key(other) not in known), "")
        return _Trial(remedy, count, hidden=f"behind it is another cause: {hidden}" if hidden else "")

    def _together(self, chosen: Sequence[Remedy], plan: Plan, calls: list[Call]) -> int | None:
        try:
            after = compiled_calls.run(self.target, self.mode, self.backend, plan.steps, chosen)
        except Exception:  # remedies that exclude each other
            return None
        if compiled_calls.breaks_graph(after, calls):
            return None
        return max(compiled_calls.compilations(after).values(), default=None)

    def _refusal(self, error: Exception) -> str:
        """Why a remedy does not work, in plain words."""
        if isinstance(error, NotApplicable):
            return str(error)
        if type(error).__name__ == "ConstraintViolationError":
            size = re.search(r"to be a constant \((\d+)\)", str(error))
            only = f"the size {size[1]}" if size else "one size"
            frames = re.findall(r'File "(.+)", line (\d+)', str(error))
            own = [f" at {self.places.show(path)}:{line}" for path, line in frames if self.places.kind(path) == "own"]
            return (
                "ConstraintViolationError: mark_dynamic promises that the code treats all sizes alike, "
                f"and it is compiled for {only} alone{own[-1] if own else ''}"
            )
        return fault_of(error, self.places, "with it").detail

    def _recompile(self, cause: Cause, plan: Plan, compilations: int, tried: list[_Trial]) -> Recompile:
        path, line = place(cause, self.places)
        best = _best(tried)
        helps = best is not None and best.compilations is not None and best.compilations < compilations
        return Recompile(
            cause=cause.words,
            guard=cause.guard.text,
            input=cause.input,
            dimension=cause.dimension,
            path=path,
            line=line,
            compilations=compilations,
            remedy=_offered(best, helps) or advice(cause),
            verified_compilations=best.compilations if best and helps else None,
            kind=cause.guard.kind,
            name=cause.guard.name,
            varied=plan.varied,
            limit=recompile_limit(),
            at_limit=cause.at_limit,
            tried=tuple(trial.shown() for trial in tried),
            later_calls=0 if differs_by_instance(cause.guard, cause.code) else len(cause.calls),
        )


def recompile_limit() -> int:
    """How often one function is compiled before Dynamo gives up (``cache_size_limit`` before torch 2.7)."""
    config: Any = torch._dynamo.config
    return int(getattr(config, "recompile_limit", None) or config.cache_size_limit)


def _best(tried: list[_Trial]) -> _Trial | None:
    """The trial with the fewest compilations, of equals the first."""
    worked = [trial for trial in tried if trial.compilations is not None]
    return min(worked, key=lambda trial: trial.compilations or 0, default=None)


def _offered(best: _Trial | None, helps: bool) -> str:
    """The remedy that helps, or would if it were not for another cause behind this one; empty where there is none."""
    if best is None or not (helps or best.hidden):
        return ""
    return best.remedy.text if helps else f"{best.remedy.text}, and more: {best.hidden}"


def _equal(calls: list[Call], after: list[Call]) -> bool:
    return len(calls) == len(after) and all(
        comparison.compare(a.outputs, b.outputs).where is None for a, b in zip(calls, after, strict=True)
    )


def _key(cause: Cause) -> tuple[str, str | None]:
    return cause.guard.kind, cause.guard.name


def _is_normal(cause: Cause, plan: Plan) -> bool:
    """What Dynamo does with any model: a size that changes becomes dynamic at the second value, 0 and 1 stay apart.

    State that changes once, after the first call, is taken as a warm-up.
    """
    if cause.guard.kind != "size" or not plan.sizes:
        return cause.calls == (1,)
    second = next((call for call, size in enumerate(plan.sizes) if size != plan.sizes[0]), 0)
    return all(call == second or plan.sizes[call] < 2 for call in cause.calls)


def _unexpected(normal: list[Cause], found: list[Cause], plan: Plan) -> str:
    """What Dynamo does with any model, in one sentence."""
    size_causes = [
        cause
        for cause in (normal if plan.automatic else found)
        if cause.guard.kind == "size" and cause.input is not None
    ]
    parts = []
    if any(len(set(cause.calls) - set(cause.zero_one)) == 1 for cause in size_causes):
        parts.append("a second size is one more compilation, which makes the dimension dynamic")
    if any(cause.zero_one for cause in size_causes):
        parts.append("sizes 0 and 1 are always compiled separately (0/1 specialisation)")
    parts += [f"once after the first call: {c.words}" for c in normal if c.guard.kind != "size" or not c.input]
    # What is asked for by name is a cause with a remedy, too.
    start = "expected" if plan.automatic else "expected without the suggested fix"
    return f"{start}: {'; '.join(parts)}" if parts else ""
