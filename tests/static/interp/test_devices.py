"""Code for devices that are rarely compiled for is only possible."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        kind = x.device.type
        {code}
        return x
"""


def untaken(events, code: str) -> list[bool]:
    found = events(NET.format(code=code.replace("\n", "\n        ")))
    return [e.site.untaken for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]


@pytest.mark.parametrize(
    ("test", "rare"),
    [
        ('kind == "mps"', True),
        ('"mps" == x.device.type', True),
        ('kind in ("xpu", "mps")', True),
        ('kind not in ("cuda", "cpu") and kind == "xla"', True),
        ("x.is_mps", True),
        ('kind == "mps" and x.dim() == 2', True),
        ('kind == "cuda"', False),
        ('kind == "cpu"', False),
        ('kind != "mps"', False),
        ('kind in ("cuda", "mps")', False),
        ('str(x.dtype) == "mps"', False),
    ],
)
def test_a_test_for_a_rare_device(events, test, rare):
    assert untaken(events, f"if {test}:\n    print(1)") == [rare]
    assert untaken(events, f"if not ({test}):\n    x = x + 1\nelse:\n    print(1)") == [rare]


def test_the_second_operand(events):
    assert untaken(events, 'x = x + 1 if kind == "mps" and print(1) else x') == [True]
    assert untaken(events, 'flag = kind == "mps" and print(1)') == [True]
