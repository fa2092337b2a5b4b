"""The worker that measures one strategy. Started by ``ask`` as ``main(question_file, descriptor)``."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch

from graphdoctor.bench import measure
from graphdoctor.bench.opening import Opened, answer
from graphdoctor.bench.steps import NotApplicable, Stepper, stepper
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.tracing import private_torch
from graphdoctor.dynamic.tracing.private_torch import counters
from graphdoctor.dynamic.user_code.target import SEED
from graphdoctor.model.benchmark import Result

#: Rounds of warm-up: at most this many, until one compiles nothing.
_WARM_UP = 10
_ARTIFACTS = "artifacts.bin"


def main(question_file: str, descriptor: int) -> None:
    """Measure the strategy of the question and exit."""
    # Each strategy is measured in a fork of the same process: what another one compiled must not be there for it.
    caches = tempfile.mkdtemp(dir=Path(question_file).parent)
    os.environ.update(TORCHINDUCTOR_CACHE_DIR=f"{caches}/inductor", TRITON_CACHE_DIR=f"{caches}/triton")
    answer(question_file, descriptor, _work)


def _work(opened: Opened) -> None:
    extra = opened.question.extra
    strategy: str = extra["strategy"]
    backend: str = extra["backend"]
    folder = Path(extra["folder"])
    result = Result(strategy)

    def update(**changes: object) -> None:
        # After each part, so that a time limit or Ctrl-C loses only what comes after.
        nonlocal result
        result = replace(result, **changes)  # type: ignore[arg-type]
        opened.channel.send("run", result=asdict(result))

    if backend == "inductor":
        # Its own import is no part of a compile time.
        private_torch.backend(backend)
    if strategy == "cache":
        torch.compiler.load_cache_artifacts((folder / _ARTIFACTS).read_bytes())
    try:
        opened.channel.progress(f"{strategy}: first calls")
        made = stepper(opened.target, opened.question.mode, strategy, backend)
        cold, compilations, found = _warm_up(made)
    except NotApplicable as reason:
        update(status="skipped", detail=str(reason))
        return
    update(compilations=compilations, cold=None if strategy == "eager" else cold)
    if strategy == "eager":
        _save(opened, folder, found)
    update(**_numerics(folder, opened.question.mode, found))
    if strategy == "default" and backend == "inductor" and (saved := torch.compiler.save_cache_artifacts()):
        (folder / _ARTIFACTS).write_bytes(saved[0])
    if strategy == "cache":
        # Once compiled, it runs what the default strategy runs.
        return

    opened.channel.progress(f"{strategy}: timing the steady state")
    update(timing=measure.timing(made.round, extra["seconds"], len(made.calls)))
    update(peak=measure.peak(lambda: made.step(*made.calls[0]), opened.target.device))
    if strategy != "eager":
        opened.channel.progress(f"{strategy}: compiling again with caches")
        torch._dynamo.reset()
        update(warm=_warm_up(stepper(opened.target, opened.question.mode, strategy, backend))[0])


def _warm_up(made: Stepper) -> tuple[float, int, comparison.Snapshot]:
    """Steps until nothing is compiled any more: seconds of the calls that compiled, graphs, and what the first left."""
    first: list[comparison.Snapshot] = []
    before = counters["stats"]["unique_graphs"]
    seconds = _if_compiled(lambda: first.append(made.first()))
    for _ in range(_WARM_UP):
        spent = sum(_if_compiled(lambda call=call: made.step(*call)) for call in made.calls)  # type: ignore[misc]
        seconds += spent
        if not spent:
            break
    return seconds, counters["stats"]["unique_graphs"] - before, first[0]


def _if_compiled(call: Callable[[], object]) -> float:
    """The seconds of the call where Dynamo compiled a frame in it, else none."""
    frames, start = counters["frames"]["total"], time.perf_counter()
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start if counters["frames"]["total"] != frames else 0.0


def _save(opened: Opened, folder: Path, found: comparison.Snapshot) -> None:
    """Keep eager's snapshot for the other strategies, unless a second run under another seed gives other numbers."""
    again = stepper(opened.target, opened.question.mode, "eager", None)
    if comparison.compare(found, again.first(SEED + 1), scaled=True).where is None:
        comparison.save(found, folder, opened.question.mode)


def _numerics(folder: Path, mode: str, found: comparison.Snapshot) -> dict[str, object]:
    expected = comparison.load(folder, mode)
    if expected is None:
        return {"numerics": "not compared: the outputs depend on random numbers (dropout?)"}
    difference = comparison.compare(expected, found, scaled=True)
    return {
        "equal": difference.where is None,
        "difference": difference.max_abs_diff,
        "numerics": difference.where or "",
    }
