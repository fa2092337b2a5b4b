"""Submodules of which only their calls tell the class."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call

MODEL = """
import library
import torch.nn as nn


class Decoder(nn.Module):
    def forward(self, x, positions=None, mask=None, **more):
        print("decoder")
        return x


class Encoder(nn.Module):
    def forward(self, x, mask=None):
        return x


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.decoder = library.make(config)

    def forward(self, x):
        return self.decoder(ARGUMENTS)


def graphdoctor_target():
    return Net(None), (library.data(),)
"""


def printed(events, arguments: str) -> int:
    found = events(MODEL.replace("ARGUMENTS", arguments))
    return sum(isinstance(e, Call) and e.qualname == "builtins.print" for e in found)


@pytest.mark.parametrize("arguments", ["x, positions=x", "x, positions=x, mask=None, unheard=1"])
def test_a_keyword_of_one_class_alone_tells_the_class(events, arguments):
    assert printed(events, arguments) == 1


@pytest.mark.parametrize("arguments", ["x", "x, mask=x", "x, unheard=1", "x, **{'positions': x}"])
def test_other_calls_tell_nothing(events, arguments):
    assert printed(events, arguments) == 0
