"""Graph breaks of calls with other inputs, and remedies that bring them about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.recompiles import sweep
from graphdoctor.dynamic.recompiles.recompile import Probe
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.model.runs import Recompile, Sweep

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def probe(function: Callable[..., Any], *lengths: int, times: int = 1) -> list[tuple[Sweep, tuple[Recompile, ...]]]:
    def calls() -> list[Any]:
        return [(torch.ones(2, n, 8),) for n in lengths]

    target = Target("f", lambda: Sample(function, calls()[0]), torch.device("cpu"), calls)
    probing = Probe(target, "eval", CountingBackend(), PLACES)
    return [probing.probe(plan) for plan in sweep.variants(target) * times]


def causal(x: torch.Tensor) -> torch.Tensor:
    return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1)


def test_a_remedy_under_which_the_first_call_breaks_is_none() -> None:
    """The second length is a symbol, which makes the comparison one; with the mark, so is the first."""
    ((made, (found,)),) = probe(causal, 4, 6, 5)
    line = causal.__code__.co_firstlineno + 1
    assert [(entry.gb_id, entry.line, entry.call) for entry in made.breaks] == [("GB0112", line, 2)]
    *dynamic, padded = found.tried
    assert [(each.compilations, each.detail) for each in dynamic] == [(None, "it breaks the graph")] * 3
    assert padded.text == found.remedy and found.remedy.startswith("pad ")
    # Padding changes what a mean or a Fourier transform gives, which a count does not show.
    assert found.remedy.endswith("if the model gives the same for padded input: only the compilations were counted")


def test_a_break_is_said_of_the_first_calls_that_have_it() -> None:
    first, second = (made.breaks for made, _ in probe(causal, 4, 6, times=2))
    assert (len(first), second) == (1, ())


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


def test_the_recompile_limit_is_no_graph_break() -> None:
    ((made, (found,)),) = probe(Counter(), *[4] * 12)
    assert (found.at_limit, made.breaks) == (True, ())
