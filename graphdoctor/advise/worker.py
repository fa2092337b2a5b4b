"""The worker that counts placements. Started by ``ask`` as ``main(question_file, descriptor)``."""

from __future__ import annotations

from dataclasses import asdict

from torch import nn

from graphdoctor.advise import candidates, choose, code, notes, shapes
from graphdoctor.advise.count import Counter
from graphdoctor.bench.opening import Opened, answer
from graphdoctor.bench.steps import NotApplicable
from graphdoctor.dynamic.tracing.backend import replace_inductor
from graphdoctor.dynamic.tracing.private_torch import skip_guard_timing
from graphdoctor.model.advice import Note, Placement
from graphdoctor.source.files import text_of


def main(question_file: str, descriptor: int) -> None:
    """Answer the question and exit."""
    answer(question_file, descriptor, _work)


def _work(opened: Opened) -> None:
    target, mode, channel = opened.target, opened.question.mode, opened.channel
    channel.progress("running in eager")
    try:
        counter = Counter(target, mode, opened.places)
    except NotApplicable as error:
        channel.send("failed", detail=str(error))
        return
    # torch.compile calls of the user's own are counted as well, and nothing waits for generated code.
    replace_inductor(counter.backend)
    skip_guard_timing()
    found: list[Placement] = []

    def add(placement: Placement) -> None:
        found.append(placement)
        channel.send("placement", placement=asdict(placement), calls=counter.calls)

    channel.progress("counting: the whole model")
    add(counter.count(Placement("model", code.MODEL)))
    model = target.sample(mode).module
    if model is not None:
        channel.progress("counting: repeated blocks")
        for placement in candidates.blocks(model):
            add(counter.count(placement))
        channel.progress("counting: submodules")
        parts = candidates.submodules(model, found[0], counter.count)
        if parts is not None and parts.names not in [placement.names for placement in found]:
            add(parts)
    if mode == "train":
        channel.progress("counting: loss and optimizer")
        if target.loss is not None:
            add(counter.count(Placement("loss", code.LOSS)))
        add(counter.count(Placement("optimizer", code.OPTIMIZER)))
    channel.progress("counting: changing sizes")
    sized = shapes.strategies(target, mode, opened.places)
    proposed, reason = choose.choose(found, bool(sized))
    notes = _notes(model, opened, [found[number] for number in proposed])
    channel.send(
        "run",
        proposed=proposed,
        reason=reason,
        shapes=[asdict(entry) for entry in sized],
        notes=[asdict(note) for note in notes],
    )


def _notes(model: nn.Module | None, opened: Opened, proposed: list[Placement]) -> tuple[Note, ...]:
    return notes.notes(model, text_of(opened.question.file), proposed)
