"""What comes behind the verdict: recompiles of a large model, looked for with all sizes changed at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.dynamic.worker.optional_checks import Deeper

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))

pytestmark = pytest.mark.usefixtures("fresh_dynamo")
eager_sizes: list[int] = []


def long(x: torch.Tensor) -> torch.Tensor:
    if not torch.compiler.is_compiling():
        eager_sizes.append(len(x))
    for _ in range(151):
        x = (x + 1).relu()
    return x


def fixed(x: torch.Tensor) -> torch.Tensor:
    return long(x).view(4, 3)


@pytest.mark.parametrize(
    ("function", "varied", "eager"),
    [(long, ["batch 4, 4, 5, 6"], [4]), (fixed, ["the same inputs, 4 calls"], [4, 4, 4, 5, 6, 1])],
)
def test_sizes_that_eager_takes_are_compiled_at_once(
    function: Callable[[torch.Tensor], torch.Tensor], varied: list[str], eager: list[int]
) -> None:
    eager_sizes.clear()
    target = Target("f", lambda: Sample(function, (torch.ones(4, 3),)), torch.device("cpu"))
    request = RunRequest(Path(__file__), Path(FOLDER))
    experiment = Experiment(target, "eval", request, PLACES, CountingBackend())
    run = experiment.run(lambda _run, _complete: None, lambda _text: None)
    found = Deeper(experiment, lambda _run: None, lambda _text: None).run(run)
    assert [sweep.varied for sweep in found.sweeps] == varied
    assert (found.recompiles, eager_sizes) == ((), eager)
