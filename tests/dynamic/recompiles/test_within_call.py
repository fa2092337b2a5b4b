"""Functions that one call of the sample compiles again and again."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.diagnosis.summary import failures
from graphdoctor.dynamic.recompiles.within_call import recompiles_of_one_call
from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.model.runs import DynamicRun

FILE = Path(__file__)
PLACES = Places(root=str(FILE.parent), own=(str(FILE.parent),), torch=str(Path(torch.__file__).parent))

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width + 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(x).relu() + 1
        return result


class Net(nn.Module):
    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(4 + n) for n in range(blocks)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
            torch._dynamo.graph_break()
        return x


@pytest.mark.parametrize(("blocks", "compilations", "at_limit"), [(2, [], []), (4, [4], [False]), (10, [8], [True])])
def test_blocks_behind_a_break_are_compiled_for_each_width(
    blocks: int, compilations: list[int], at_limit: list[bool]
) -> None:
    with record() as recording:
        torch.compile(Net(blocks), backend="eager")(torch.rand(2, 4))
    found = recompiles_of_one_call(recording, PLACES)
    assert [each.compilations for each in found] == compilations
    assert [each.at_limit for each in found] == at_limit
    line = next(n for n, text in enumerate(FILE.read_text().split("\n"), 1) if "def forward" in text)
    for each in found:
        assert (each.path, each.line, each.kind) == (FILE.name, line, "size")
        assert each.remedy is not None and each.remedy.startswith("remove the graph breaks")


class Flagged(nn.Module):
    """One of several layers, each with a number of its own, that are compiled by themselves after a break."""

    def __init__(self, flag: int) -> None:
        super().__init__()
        self.flag = flag

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.flag + int(x.sum() > -1e9)


@pytest.mark.parametrize(
    ("layers", "failure"), [(5, ()), (12, ("the recompile limit is reached: each call runs uncompiled in part",))]
)
def test_what_only_the_layers_of_one_call_differ_in_is_not_said_of_each_call(
    layers: int, failure: tuple[str, ...]
) -> None:
    model = torch.compile(nn.Sequential(*(Flagged(n) for n in range(1, 1 + layers))), backend="eager")
    with record() as recording:
        model(torch.rand(2, 4))
    found = recompiles_of_one_call(recording, PLACES)
    assert [(each.kind, each.name, each.compilations) for each in found] == [("attribute", "self.flag", min(layers, 8))]
    assert failures(DynamicRun("f", "eval", "cpu", outcome="ok", recompiles=found)) == failure
    with record() as later:
        model(torch.rand(2, 4))
    assert later.starts == []


def test_without_a_graph_break_there_is_none_to_remove() -> None:
    block = torch.compile(Block.forward, backend="eager", dynamic=False)
    blocks = [Block(4 + n) for n in range(4)]

    def f(x: torch.Tensor) -> torch.Tensor:
        for each in blocks:
            x = block(each, x)
        return x

    with record() as recording:
        f(torch.rand(2, 4))
    assert len(recording.recompiles) >= 3
    assert recompiles_of_one_call(recording, PLACES) == ()


def test_a_function_whose_start_was_not_recorded_is_left_out() -> None:
    with record() as recording:
        torch.compile(Net(4), backend="eager")(torch.rand(2, 4))
    assert recording.events and recording.recompiles
    recording.starts.clear()
    assert recompiles_of_one_call(recording, PLACES) == ()
