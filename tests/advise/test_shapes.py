"""Ways to treat sizes that vary, counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from graphdoctor.advise.shapes import strategies
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.user_code.target import Sample, Target

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))


def by_length(x: torch.Tensor) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1)


@pytest.fixture(autouse=True)
def fresh() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def test_a_way_that_breaks_the_graph_of_the_first_call_is_not_counted() -> None:
    lengths = [(torch.rand(2, n, 8),) for n in (4, 6, 5)]
    target = Target("f", lambda: Sample(by_length, lengths[0]), torch.device("cpu"), lambda: lengths)
    found = strategies(target, "eval", PLACES)
    assert [(each.compilations is None, each.failure) for each in found if "dynamic" in each.text] == [
        (False, ""),
        (True, "it breaks the graph"),
        (True, "it breaks the graph"),
    ]
