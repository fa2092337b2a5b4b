"""The model that the note on a file without a sample names."""

from __future__ import annotations

import pytest

from graphdoctor.source.last_model import last_model

MODELS = """\
class Block(nn.Module):
    def forward(self, x): ...


class Net(nn.Module):
    def __init__(self, config, depth, width=4, *, heads, bias=True): ...
    def forward(self, ids, mask=None, *, cache): ...


class Round(autograd.Function):
    @staticmethod
    def forward(ctx, x): ...


class Config: ...
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (MODELS, ("Net(config, depth, heads=heads)", ("ids", "cache=cache"))),
        (MODELS.partition("class Net")[0], ("Block", ("x",))),
        (MODELS.partition("class Config")[2], None),
        ("class Net(\n", None),
    ],
)
def test_the_last_model_of_a_file_is_the_example(text: str, found: tuple[str, tuple[str, ...]] | None) -> None:
    assert last_model(text) == found
