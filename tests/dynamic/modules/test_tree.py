"""The tree of a model, and how often repeated blocks are compiled."""

from pathlib import Path

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.modules.readiness import each_alone
from graphdoctor.dynamic.modules.tree import abandoned, compiled_frames, entries, repeated
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.tracing.capture import Failed, Recording, Start
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.model.runs import DynamicRun

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Block(nn.Module):
    def __init__(self, index: int) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.index = index

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.index


class Head(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.relu()
        print("head")
        return x.relu()


class Net(nn.Module):
    def __init__(self, count: int, same: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(0 if same else i) for i in range(count))
        self.head = Head()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)  # type: ignore[no-any-return]


def target(count: int, same: bool) -> Target:
    return Target("Net", lambda: Sample(Net(count, same), (torch.ones(2, 4, requires_grad=True),)), torch.device("cpu"))


def run(of: Target) -> DynamicRun:
    request = RunRequest(Path(__file__), Path(FOLDER), recompiles=False, deeper=False)
    experiment = Experiment(of, "eval", request, PLACES, CountingBackend())
    return experiment.run(lambda run, complete: None, lambda text: None)


def test_the_tree_says_what_is_compiled_and_where_it_breaks() -> None:
    nodes = {node.name: node for node in run(target(2, same=True)).modules}
    assert nodes[""].breaks == nodes["head"].breaks == 1
    assert nodes["blocks.0"].breaks == 0
    assert nodes["blocks.0"].state == nodes["head"].state == "compiled"
    assert nodes[""].operators == nodes["blocks"].operators + nodes["head"].operators
    assert nodes["head"].compilations == 1
    assert nodes["blocks.0"].compilations == 0


def test_a_module_that_is_not_called_has_no_breaks_of_others_of_its_class() -> None:
    class Spare(Net):
        def __init__(self) -> None:
            super().__init__(1, True)
            self.spare = Head()

    made = Target("Spare", lambda: Sample(Spare(), (torch.ones(2, 4),)), torch.device("cpu"))
    nodes = {node.name: node for node in run(made).modules}
    assert (nodes["head"].breaks, nodes["spare"].breaks, nodes["spare"].state) == (1, 0, "not-called")


def test_blocks_that_differ_in_a_number_reach_the_limit_when_each_is_compiled() -> None:
    limit = torch._dynamo.config.recompile_limit
    of = target(limit + 2, same=False)
    (group,) = run(of).blocks
    assert (group.type, len(group.names), group.compilations) == ("Block", limit + 2, 0)
    (alone,) = each_alone(of, "eval", (group,), CountingBackend())
    assert (alone.alone, alone.alone_at_limit) == (limit, True)


def test_equal_blocks_share_one_compilation() -> None:
    of = target(4, same=True)
    (alone,) = each_alone(of, "eval", run(of).blocks, CountingBackend())
    assert (alone.alone, alone.alone_at_limit) == (1, False)


def test_a_call_of_its_own_is_an_entry_beside_forward() -> None:
    class Own(Block):
        def __call__(self, *args: torch.Tensor) -> torch.Tensor:
            return super().__call__(*args)  # type: ignore[no-any-return]

    first = Own.__call__.__code__.co_firstlineno
    assert [line for _, line in entries(Own(0))] == [Block.forward.__code__.co_firstlineno, first]
    assert len(entries(Block(0))) == 1


def test_blocks_are_siblings_with_equal_shapes() -> None:
    net = Net(3, same=False)
    assert repeated(net) == [("blocks.0", "blocks.1", "blocks.2")]
    net.blocks[1].linear = nn.Linear(4, 5)
    assert repeated(net) == [("blocks.0", "blocks.2")]


def test_a_module_need_not_have_a_truth_value() -> None:
    class Held(nn.Linear):
        def __bool__(self) -> bool:
            raise RuntimeError("ambiguous")

    assert repeated(nn.ModuleList([nn.Sequential(Held(2, 2)), nn.Sequential(Held(2, 2))])) == [("0", "1")]


def test_compilations_are_counted_by_function() -> None:
    starts = [Start(0, 0, "m.py", 3), Start(1, 0, "m.py", 3), Start(0, 1, "m.py", 3)]
    assert compiled_frames(starts) == {("m.py", 3): 2}
    recording = Recording(starts=starts, recompiles=[Failed(0, 1, ("r",)), Failed(0, 2, ("r",))])
    assert abandoned(recording) == {("m.py", 3)}
