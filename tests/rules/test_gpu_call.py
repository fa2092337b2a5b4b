"""Layers that run a model on several GPUs, which no fix leaves out."""

from __future__ import annotations

from graphdoctor.lint.engine import analyse

INSIDE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.DataParallel(nn.Linear(2, 2))

    def forward(self, x):
        y = self.body(x)
        return y * 2
"""

AROUND = """\
import torch
from torch import nn

net = torch.compile(nn.DataParallel(nn.Linear(2, 2)))


def train(x):
    y = net(x)
    y.sum().backward()


train(torch.ones(2, 2))
"""


def test_a_model_on_several_gpus_is_not_left_out(graphdoctor, tmp_path):
    (tmp_path / "net.py").write_text(INSIDE)
    (found,) = analyse([(tmp_path / "net.py", "net.py")]).findings
    assert (found.rule, found.location.line) == ("GD517", 11)
    done = graphdoctor("scan", "net.py", "--diff", "--unsafe-fixes", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("", 0)


def test_the_call_of_the_compiled_layer_itself_splits_nothing(tmp_path):
    file = tmp_path / "net.py"
    file.write_text(AROUND)
    assert not analyse([(file, "net.py")]).findings
