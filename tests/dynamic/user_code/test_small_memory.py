"""Models with fewer blocks, and models that are built without weights."""

from __future__ import annotations

import torch
from torch import nn

from graphdoctor.dynamic.user_code.fresh import Sample
from graphdoctor.dynamic.user_code.small_memory import SmallMemory

CPU = torch.device("cpu")


class Block(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.norm = nn.LayerNorm(width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for expert in self.experts:
            x = x + expert(x)
        return self.norm(x) * self.scale


class Model(nn.Module):
    """Counts its blocks by a number of its own, shares a weight, and has a buffer."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.num_layers = layers
        self.width = layers
        self.embedding = nn.Embedding(16, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.head = nn.Linear(8, 16, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("places", torch.arange(4))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens + self.places * 0)
        for number in range(self.num_layers):
            x = self.blocks[number](x)
        return self.head(x)


class Reads(nn.Module):
    """Asks for the numbers of its weights while it is built."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(3)), nn.ReLU(), nn.Linear(4, 2))
        self.size = float(self.layers[0].weight.abs().max())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x) / self.size


def built(model: type[nn.Module], *arguments: int, blocks: int | None, device: str = "cpu") -> tuple[Sample, list[str]]:
    def build() -> Sample:
        with torch.device(device):
            made = model(*arguments)
        return Sample(made, (torch.arange(4) if model is Model else torch.ones(2, 4),))

    small = SmallMemory(build, blocks, CPU)
    return small.build(), list(small.altered)


def outputs(sample: Sample) -> torch.Tensor:
    found: torch.Tensor = sample.function(*sample.args)
    return found


def test_the_first_blocks_stay_and_lists_inside_them_are_whole() -> None:
    sample, altered = built(Model, 12, blocks=2)
    model = sample.function
    assert isinstance(model, Model)
    assert (len(model.blocks), model.num_layers, model.width) == (2, 2, 12)
    assert len(model.blocks[0].experts) == 4  # type: ignore[arg-type]
    assert model.head.weight is model.embedding.weight
    assert not any(parameter.is_meta for parameter in model.parameters())
    assert outputs(sample).isfinite().all()
    assert altered == [
        "--shrink 2: 10 of 12 blocks Block of blocks were left out",
        "the model was built without weights: those of the run are random numbers",
    ]


def test_a_model_on_the_meta_device_gets_weights() -> None:
    sample, altered = built(Model, 2, blocks=None, device="meta")
    assert outputs(sample).std() > 0
    assert altered == ["the model was built without weights: those of the run are random numbers"]
    sample, altered = built(Model, 2, blocks=None)
    assert altered == []


def test_code_that_needs_numbers_gets_them_and_each_kind_stays() -> None:
    sample, altered = built(Reads, blocks=1)
    assert altered == ["--shrink 1: 2 of 5 blocks Linear of layers were left out"]
    assert outputs(sample).shape == (2, 2)


def test_what_has_no_blocks_is_left_as_it_is() -> None:
    sample = SmallMemory(lambda: Sample(torch.sin, (torch.ones(2),)), 2, CPU)
    sample.build()
    assert sample.altered == ("--shrink 2: nothing was left out, no list has more blocks of one kind",)
