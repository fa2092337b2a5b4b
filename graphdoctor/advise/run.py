"""The parent side of an advice: ask the worker, and with ``measure`` have the proposed placements timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from graphdoctor.bench.run import bench
from graphdoctor.bench.strategies import chosen
from graphdoctor.bench.verdict import verdict
from graphdoctor.dynamic.parent import runner
from graphdoctor.dynamic.parent.device_choice import again_on_cpu, mixes_devices, why_on_cpu
from graphdoctor.dynamic.parent.measuring import ask
from graphdoctor.dynamic.parent.protocol import BadMessage
from graphdoctor.dynamic.parent.protocol import Progress as ProgressMessage
from graphdoctor.model.advice import Advice, Counted, Kind, Proposal
from graphdoctor.model.benchmark import TIME_LIMIT, Options, Question, Where

Progress = Callable[[str], None]

#: The strategy of ``graphdoctor bench`` that times a placement.
_STRATEGIES: dict[Kind, str] = {"model": "default", "blocks": "regional", "optimizer": "optimizer"}


class NoAdvice(Exception):
    """The target could not be run, on ``device``, which is empty where it is not known; the text is one line."""

    def __init__(self, text: str, device: str = "") -> None:
        super().__init__(text)
        self.device = device


def advise(
    question: Question,
    timeout: float = TIME_LIMIT,
    progress: Progress = lambda _text: None,
    server: runner.Server | None = None,
) -> Advice:
    """Count the placements of torch.compile in the target of ``question``, in a fork of ``server`` or of a new one.

    Where the GPU that was chosen does not suit the code, they are counted on the CPU. Raises NoAdvice.
    """
    if server is None:
        with runner.Server() as server:
            return advise(question, timeout, progress, server)
    started = time.monotonic()
    try:
        return _advice(question, timeout, progress, server)
    except NoAdvice as error:
        on_cpu = not error.device or error.device.startswith("cpu")
        if question.device != "auto" or on_cpu or not mixes_devices(str(error)):
            raise
        on_gpu = error
    progress(again_on_cpu(on_gpu.device))
    try:
        found = _advice(replace(question, device="cpu"), timeout - (time.monotonic() - started), progress, server)
    except NoAdvice:
        raise on_gpu from None
    return replace(found, device_note=why_on_cpu(on_gpu.device, str(on_gpu)))


def _advice(question: Question, timeout: float, progress: Progress, server: runner.Server) -> Advice:
    counted: list[Counted] = []
    proposals: list[Proposal] = []
    where = Where({}, question.target or question.file.name)

    def on_message(message: object) -> None:
        nonlocal where
        if isinstance(message, ProgressMessage):
            progress(message.text)
        elif isinstance(message, Where):
            where = message
        elif isinstance(message, Counted):
            counted.append(message)
        elif isinstance(message, Proposal):
            if any(not 0 <= number < len(counted) for number in message.proposed):
                raise BadMessage("a placement that was not counted")
            proposals.append(message)

    kinds = {"placement": Counted, "run": Proposal}
    failure = ask("graphdoctor.advise.worker", question, timeout, kinds, on_message, server)
    if failure is not None or not proposals:
        raise NoAdvice(failure or "the worker gave no answer", where.environment.get("device") or "")
    last = proposals[-1]
    return Advice(
        mode=question.mode,
        target=where.target,
        environment=where.environment,
        calls=counted[-1].calls if counted else 0,
        placements=tuple(entry.placement for entry in counted),
        proposed=last.proposed,
        reason=last.reason,
        shapes=last.shapes,
        notes=last.notes,
    )


def measured(advice: Advice, question: Question, options: Options, progress: Progress = lambda _text: None) -> Advice:
    """``advice`` with a benchmark of the placements that have a strategy; it may turn the proposal into nowhere."""
    usable = [placement for placement in advice.placements if not placement.failure and not placement.setting]
    wanted = [_STRATEGIES[placement.kind] for placement in usable if placement.kind in _STRATEGIES]
    question = replace(question, device="cpu") if advice.device_note else question
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
