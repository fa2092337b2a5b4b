"""Layers of torch that a name, a table or a function of ``nn.utils`` gives."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call

MODEL = """
import torch.nn as nn
from torch.nn.utils import parametrizations, weight_norm

TABLE = {"lstm": nn.LSTM, "gru": nn.GRU}


def make(kind, **settings):
    if kind == "linear":
        return nn.Linear(4, 4), False
    return getattr(nn, kind)(**settings), True


class Own(nn.Linear):
    def forward(self, x):
        print("own")
        return super().forward(x)


class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        BUILD

    def forward(self, x):
        return self.layer(x)
"""


def called(events, build: str) -> set[str]:
    body = build.replace("\n", "\n        ")
    return {e.qualname for e in events(MODEL.replace("BUILD", body)) if isinstance(e, Call)}


@pytest.mark.parametrize(
    "build",
    [
        "self.layer = getattr(nn, kind.upper())(4, 4, batch_first=True)",
        "self.layer = getattr(nn, kind)(4, 4, bidirectional=True)",
        "self.layer, self.packs = make(kind, input_size=4, hidden_size=4, num_layers=1)",
        "assert kind in ('LSTM', 'GRU')\nself.layer = getattr(nn, kind)(4, 4)",
        "if kind not in ['LSTM', 'GRU']:\n    raise ValueError\nself.layer = getattr(nn, kind)(4, 4)",
        "self.layer = TABLE[kind](4, 4)",
        "self.layer = weight_norm(nn.LSTM(4, 4), 'weight_hh_l0')",
    ],
)
def test_a_recurrent_layer_is_known(events, build):
    assert called(events, build) & {f"torch.nn.{name}.forward" for name in ("LSTM", "GRU", "RNN")}


@pytest.mark.parametrize(
    "build",
    [
        "self.layer = getattr(nn, kind)(4, 4)",
        "assert kind in ('ReLU', 'GELU')\nself.layer = getattr(nn, kind)()",
        "self.layer = getattr(nn, kind)(inplace=True)",
        "self.layer = getattr(nn, kind, nn.ReLU)(4, 4)",
    ],
)
def test_other_layers_are_none(events, build):
    assert not [name for name in called(events, build) if "LSTM" in name or "GRU" in name or "RNN" in name]


@pytest.mark.parametrize("function", ["weight_norm", "parametrizations.spectral_norm", "nn.utils.spectral_norm"])
def test_a_layer_that_is_changed_is_still_of_its_class(events, function):
    assert "builtins.print" in called(events, f"self.layer = {function}(Own(4, 4))")


@pytest.mark.parametrize(
    ("base", "build", "call"),
    [
        ("nn.Module", "self.inner = nn.Transformer(8, 2)", "self.inner.encoder(x, mask)"),
        ("nn.Transformer", "self.scale = 2", "self.encoder(x, mask)"),
    ],
)
def test_the_encoder_of_a_transformer_is_a_layer_of_torch(events, base, build, call):
    source = MODEL.replace("class Net(nn.Module)", f"class Net({base})").replace("BUILD", build)
    source = source.replace(
        "forward(self, x):\n        return self.layer(x)", f"forward(self, x, mask):\n        {call}"
    )
    assert "torch.nn.TransformerEncoder.forward" in {e.qualname for e in events(source) if isinstance(e, Call)}
