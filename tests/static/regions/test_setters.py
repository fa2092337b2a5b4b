"""Attributes that methods of a module set to what its users give."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call
from tests.static.conftest import Interpret

SOURCE = """\
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = {default}

    {setter}

    def forward(self, x):
        if self.mode {test}:
            x = x.sinh()
        return x
"""
PLAIN = "def set_mode(self, mode, scale=1.0):\n        self.mode = mode  # By the caller."
USED = "def restart(self, mode):\n        self.mode = mode\n\n    def clear(self):\n        self.restart(None)"


@pytest.mark.parametrize(
    ("default", "test", "setter", "may_be"),
    [
        ("None", "== 'greedy'", PLAIN, True),
        ("None", "is not None", PLAIN, True),
        ("'greedy'", "== 'sample'", PLAIN, True),
        ("False", "", PLAIN, True),
        ("1.0", "!= 1.0", PLAIN, True),
        # A size, which a method may set as well, is what the constructor makes it.
        ("4", "!= 4", PLAIN, False),
        ("None", "== 'greedy'", "def set_mode(self, mode):\n        self.other = mode", False),
        ("None", "== 'greedy'", "def set_mode(self, mode):\n        self.mode = None", False),
        ("None", "== 'greedy'", "def set_mode(self, mode):\n        self.last = self.mode = mode", True),
        ("None", "== 'greedy'", 'def set_mode(self, mode):\n        """\n        self.mode = mode\n        """', False),
        # What the class calls is for its own use.
        ("None", "== 'greedy'", USED, False),
        ("None", "== 'greedy'", PLAIN.replace("set_mode", "_set_mode"), False),
    ],
)
def test_an_attribute_that_users_set(events: Interpret, default: str, test: str, setter: str, may_be: bool) -> None:
    found = events(SOURCE.format(default=default, test=test, setter=setter))
    assert any(type(e) is Call and e.qualname == "torch.Tensor.sinh" for e in found) is may_be


def test_a_script_that_sets_none_keeps_its_model_as_it_is(events: Interpret) -> None:
    source = SOURCE.format(default="None", test="== 'greedy'", setter=PLAIN)
    for call, may_be in (("", False), ("model.set_mode('greedy')", True)):
        found = events(source + f"\n\nimport torch\n\nmodel = Decoder()\n{call}\nfast = torch.compile(model)\n")
        assert any(type(e) is Call and e.qualname == "torch.Tensor.sinh" for e in found) is may_be
