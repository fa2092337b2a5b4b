"""The advice as a part of a scan: on the target that the scan ran."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphdoctor.advise.run import NoAdvice, advise
from graphdoctor.dynamic.parent.runner import RunRequest, Server
from graphdoctor.model.advice import Advice
from graphdoctor.model.benchmark import Mode, Question
from graphdoctor.model.runs import DynamicRun


def section(
    request: RunRequest,
    runs: Sequence[DynamicRun],
    progress: Callable[[str], None] = lambda _text: None,
    server: Server | None = None,
) -> tuple[Advice | None, str]:
    """The advice on what ``request`` ran, or None and a note with the reason.

    It is for eval mode unless only train mode is run: each mode takes runs of its own.
    """
    if not any(run.outcome == "ok" for run in runs):
        return None, "no advice on where to compile: the code did not run to its end"
    mode: Mode = "train" if request.mode == "train" else "eval"
    question = Question(request.file, request.root, request.target, request.inputs, request.device, mode)
    try:
        return advise(question, progress=progress, server=server), ""
    except NoAdvice as error:
        return None, f"no advice on where to compile: {error}"
