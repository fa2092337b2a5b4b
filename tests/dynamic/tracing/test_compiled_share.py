"""Operators by submodule, in eager and inside graphs."""

import pytest
import torch
from torch import nn

from graphdoctor.dynamic.tracing import compiled_share
from graphdoctor.dynamic.tracing.backend import CountingBackend

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Block(nn.Module):
    def __init__(self, printing: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.printing = printing

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = self.linear(x).relu()
            if self.printing:
                print("block")
        return x


class Net(nn.Module):
    def __init__(self, *printing: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(p) for p in printing)
        self.unused = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x + 1


class Printing(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
            print("block")
        return x


def measured(net: Net) -> tuple[compiled_share.Share, compiled_share.Share]:
    backend = CountingBackend()
    x = torch.ones(2, 4)
    with torch.compiler.set_stance("force_eager"), compiled_share.in_eager(net) as total:
        net(x)
    function = torch.compile(net, backend=backend)
    function(x)
    with backend.measure(net) as inside:
        function(x)
    return total, inside


def test_all_of_a_clean_model_is_inside_a_graph_by_module() -> None:
    total, inside = measured(Net(False, False))
    assert inside.operators == total.operators
    assert set(total.operators) == {"", "blocks.0", "blocks.0.linear", "blocks.1", "blocks.1.linear"}
    assert total.entered["blocks.0.linear"] == 2
    assert total.entered["unused"] == 0


def test_a_break_in_a_loop_drops_the_function_for_every_block() -> None:
    total, inside = measured(Net(True, False))
    for name in ("blocks.0", "blocks.0.linear", "blocks.1", "blocks.1.linear"):
        assert inside.operators[name] == 0 < total.operators[name]


def test_blocks_that_share_one_compiled_function_are_told_apart() -> None:
    total, inside = measured(Printing(False, False, False))
    # The loop of the model is dropped, so each block is a frame of its own.
    assert inside.operators == total.operators
    assert inside.operators["blocks.2.linear"] == total.operators["blocks.2.linear"] > 0


def test_the_global_hooks_are_gone() -> None:
    before = dict(torch.nn.modules.module._global_forward_pre_hooks)
    with pytest.raises(ZeroDivisionError), compiled_share.in_eager(nn.ReLU()):
        raise ZeroDivisionError
    assert dict(torch.nn.modules.module._global_forward_pre_hooks) == before
    assert not torch.nn.modules.module._global_forward_hooks


@pytest.mark.parametrize(
    "path", ["L['n'].blocks.0.linear", "L['n'].blocks[0].linear", "L['n']._modules['blocks'][0].linear"]
)
def test_paths_of_all_torch_versions_are_resolved(path: str) -> None:
    net = Net(False)
    assert compiled_share.resolve(path, {"n": net}) is net.blocks[0].linear


def test_a_path_that_leads_nowhere() -> None:
    assert compiled_share.resolve("G['net']", {}) is None
    assert compiled_share.resolve("L['n'].missing.linear", {"n": Net(False)}) is None


def test_dynamo_still_says_which_module_a_node_belongs_to() -> None:
    """Fails loudly where torch renames ``nn_module_stack``, which the share by module is read from."""
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, example_inputs: object) -> object:
        graphs.append(graph)
        return graph.forward

    net = Net(False)
    torch.compile(net, backend=backend)(torch.ones(2, 4))
    stacks = [node.meta.get("nn_module_stack") for graph in graphs for node in graph.graph.nodes]
    paths = [next(reversed(stack.values()))[0] for stack in stacks if stack]
    assert any(compiled_share.resolve(path, {"self": net}) is net.blocks[0].linear for path in paths)
