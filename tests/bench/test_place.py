"""Compiling a submodule in place, and the fact that makes it need care."""

from collections.abc import Callable

import pytest
import torch
from torch import fx, nn

from graphdoctor.bench.place import compile_in_place, hides_forward
from graphdoctor.target_torch.specifiers import allows


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


def graphs_of(module: nn.Module, place: Callable) -> int:
    torch._dynamo.reset()
    graphs = []

    def backend(graph: fx.GraphModule, inputs: list) -> Callable:
        graphs.append(graph)
        return graph.forward

    place(module, backend=backend)
    module(torch.ones(2, 4, 4))
    return len(graphs)


@pytest.mark.parametrize(
    ("make", "hidden"),
    [
        (lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU()), True),
        (lambda: nn.TransformerEncoderLayer(4, 2, 8), True),
        (Own, False),
    ],
)
def test_a_module_of_torch_is_compiled_although_its_compile_does_nothing(make: Callable, hidden: bool) -> None:
    # Torch 2.14 compiles it.
    nothing = hidden and allows("<2.14", torch.__version__)
    assert graphs_of(make(), lambda module, backend: module.compile(backend=backend)) == (0 if nothing else 1)
    assert hides_forward(make()) is hidden
    assert graphs_of(make(), compile_in_place) == 1


def test_the_keys_of_the_state_dict_stay() -> None:
    module = nn.Sequential(nn.Linear(4, 4))
    compile_in_place(module, backend="eager")
    assert list(module.state_dict()) == ["0.weight", "0.bias"]
