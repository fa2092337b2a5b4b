"""Which loops compile again what is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

HEAD = """\
import copy

import torch
from torch import nn

NETS = (nn.Linear(2, 2), nn.Linear(2, 2))
net = nn.Linear(2, 2)
wide = nn.Linear(2, 2)


class Own(nn.Module):
    def forward(self, x):
        return x


"""


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("for step in range(3):\n    net = torch.compile(net)\n", ["GD603"]),
        ("for net in NETS:\n    net = torch.compile(net)\n", []),
        ("for net in (wide, nn.Linear(2, 2)):\n    net = torch.compile(net)\n", []),
        ("for net in (Own(), Own()):\n    net = torch.compile(net)\n", []),
        ("for step, net in enumerate((wide, nn.Linear(2, 2))):\n    net = torch.compile(net)\n", []),
        ("for step in range(3):\n    net = wide\n    net = torch.compile(net)\n", []),
        ("for step in range(3):\n    net, old = wide, net\n    net = torch.compile(net)\n", []),
        ("for step in range(3):\n    net = torch.compile(net)\n    old = net\n", ["GD603"]),
    ],
)
def test_a_name_that_the_loop_binds_to_something_else_is_not_compiled_twice(
    tmp_path: Path, loop: str, found: list[str]
) -> None:
    file = tmp_path / "loops.py"
    file.write_text(HEAD + loop)
    assert [f.rule for f in analyse([(file, "loops.py")]).findings if f.rule == "GD603"] == found
