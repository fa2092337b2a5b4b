"""Repeated blocks."""

from torch import nn

from graphdoctor.bench.blocks import repeated


def block(width: int = 4) -> nn.Module:
    return nn.TransformerEncoderLayer(width, 2, 8)


def test_equal_siblings_are_blocks() -> None:
    model = nn.Module()
    model.layers = nn.ModuleList([block(), block(), block()])
    assert repeated(model) == [("layers.0", "layers.1", "layers.2")]


def test_blocks_inside_blocks_are_left_to_the_outer_ones() -> None:
    inner = [nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2))) for _ in range(2)]
    assert repeated(nn.Sequential(*inner)) == [("0", "1")]


def test_plain_layers_are_too_small() -> None:
    assert repeated(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))) == []
