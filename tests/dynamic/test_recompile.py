from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from graphdoctor.dynamic.backend import CountingBackend
from graphdoctor.dynamic.places import Places
from graphdoctor.dynamic.recompile import changes, probe
from graphdoctor.dynamic.target import Sample, Target
from graphdoctor.model import Recompile

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def recompiles(function: Callable[[], Callable[..., Any]], variants: Sequence[Any]) -> tuple[Recompile, ...]:
    target = Target("f", lambda: Sample(function(), ()), torch.device("cpu"), lambda: variants)
    return probe(target, "eval", CountingBackend(), PLACES)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.step += 1
        return x + self.step


def double(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return batch["ids"] * 2 + batch["mask"].sum()


def with_break(x: torch.Tensor) -> torch.Tensor:
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2


def test_a_changing_size_names_input_and_dimension_and_the_remedy_is_run() -> None:
    (found,) = recompiles(lambda: with_break, [(torch.ones(n, 7),) for n in (4, 5, 6)])
    assert (found.input, found.dimension, found.compilations, found.verified_compilations) == ("x", 0, 2, 1)
    assert (found.path, found.line) == ("test_recompile.py", with_break.__code__.co_firstlineno)
    assert "dimension 0" in found.cause


def test_all_inputs_that_changed_are_named() -> None:
    batches = [({"ids": torch.ones(n, 4), "mask": torch.ones(n)},) for n in (4, 5)]
    (found,) = recompiles(lambda: double, batches)
    assert (found.input, found.dimension) == ("batch['ids']", 0)
    assert "batch['mask'] in dimension 0" in found.cause


def test_a_counter_reaches_the_limit() -> None:
    (found,) = recompiles(Counter, [(torch.ones(2),)] * 12)
    assert (found.compilations, found.verified_compilations, found.input) == (8, 2, None)
    assert "self.step" in found.cause
    assert "limit" in found.cause
    assert found.line == Counter.forward.__code__.co_firstlineno + 1


def test_equal_inputs_compile_once() -> None:
    assert recompiles(lambda: with_break, [(torch.ones(4),)] * 3) == ()


def test_changes_between_two_calls() -> None:
    before = {"x": torch.ones(2, 3), "n": 1, "gone": None, "same": "s"}
    after = {"x": torch.ones(4, 5), "n": 2, "same": "s"}
    assert changes(before, after) == [("gone", None), ("x", 0), ("x", 1), ("n", None)]
