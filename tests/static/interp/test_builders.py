"""Functions of other files that build a model are followed, though they run outside compiled code."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

NETS = """\
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        print(x)
        return x


class Net(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.layers = self._layers(depth)

    def _layers(self, depth):
        return nn.Sequential(*[Block() for _ in range(depth)])

    def forward(self, x):
        return self.layers(x)


def make(**options):
    net = Net(**options)
    return net


def small():
    return make(depth=1)


def described(net):
    return str(net)
"""
SAMPLE = (
    "import torch\nimport nets\nfrom nets import *\n\n\ndef graphdoctor_target():\n    return {}, (torch.ones(2),)\n"
)
SCRIPT = "import torch\nimport nets\nfrom nets import *\n\nnet = torch.compile({})\nnet(torch.ones(2))\n"


@pytest.mark.parametrize("program", [SAMPLE, SCRIPT])
@pytest.mark.parametrize("built", ["Net()", "make()", "small()", "nets.small()"])
def test_the_model_that_a_function_of_another_file_builds(tmp_path: Path, program: str, built: str) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    file = tmp_path / "main.py"
    file.write_text(program.format(built))
    found = analyse([(file, "main.py")], helper=lambda file: file.name).findings
    assert [(f.location.path, f.location.line) for f in found] == [("nets.py", 6)]


def test_what_builds_no_module_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    file = tmp_path / "main.py"
    file.write_text(SCRIPT.format("described(torch.nn.ReLU())"))
    assert analyse([(file, "main.py")], helper=lambda file: file.name).findings == ()
