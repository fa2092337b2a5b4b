"""The parent side of an advice: ask the worker, and with ``measure`` have the proposed placements timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graphdoctor.advise.model import Advice, Kind, Note, Placement, Shapes, placement_of
from graphdoctor.bench.ask import Message, ask
from graphdoctor.bench.model import TIME_LIMIT, Options, Question
from graphdoctor.bench.run import bench
from graphdoctor.bench.strategies import chosen
from graphdoctor.bench.verdict import verdict

Progress = Callable[[str], None]

#: The strategy of ``graphdoctor bench`` that times a placement.
_STRATEGIES: dict[Kind, str] = {"model": "default", "blocks": "regional", "optimizer": "optimizer"}


class NoAdvice(Exception):
    """The target could not be run; the text is one line."""


def advise(question: Question, timeout: float = TIME_LIMIT, progress: Progress = lambda _text: None) -> Advice:
    """Count the placements of torch.compile in the target of ``question``. Raises NoAdvice."""
    placements: list[Placement] = []
    last: dict[str, Any] = {}
    where: dict[str, Any] = {}

    def said(message: Message) -> None:
        if message["kind"] == "progress":
            progress(message["text"])
        elif message["kind"] == "environment":
            where.update(environment=message["environment"], target=message["target"])
        elif "placement" in message:
            placements.append(placement_of(message["placement"]))
            where["calls"] = message["calls"]
        else:
            last.update(message)

    failure = ask("graphdoctor.advise.worker", question, timeout, said)
    if failure is not None or not last:
        raise NoAdvice(failure or "the worker gave no answer")
    return Advice(
        mode=question.mode,
        placements=tuple(placements),
        proposed=tuple(last["proposed"]),
        reason=last["reason"],
        shapes=tuple(Shapes(**entry) for entry in last["shapes"]),
        notes=tuple(Note(**entry) for entry in last["notes"]),
        **where,
    )


def measured(advice: Advice, question: Question, options: Options, progress: Progress = lambda _text: None) -> Advice:
    """``advice`` with a benchmark of the placements that have a strategy; it may turn the proposal into nowhere."""
    usable = [placement for placement in advice.placements if not placement.failure and not placement.setting]
    wanted = [_STRATEGIES[placement.kind] for placement in usable if placement.kind in _STRATEGIES]
    found = bench(question, replace(options, strategies=chosen(["eager", *wanted])), progress)
    judged = verdict(found)
    if judged.worth is False:
        return replace(advice, bench=found, proposed=(), reason=f"{judged.sentence}. Leave the model in eager.")
    best = [i for i, p in enumerate(advice.placements) if p in usable and _STRATEGIES.get(p.kind) == judged.best]
    if judged.best == "optimizer":
        best = [i for i, p in enumerate(advice.placements) if p.kind in ("model", "optimizer")]
    if not best:
        return replace(advice, bench=found, reason=f"{advice.reason} Measured: {judged.sentence}.")
    return replace(advice, bench=found, proposed=tuple(best), reason=f"{judged.sentence}.")
