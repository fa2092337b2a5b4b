"""``kl_divergence`` breaks where it is called for the first time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
{imported}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        mean, log = self.linear(x).chunk(2, -1)
        prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
        return {called}(torch.distributions.Normal(mean, log.exp()), prior).sum()


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
"""
RUN = """
from torch._dynamo.testing import CompileCounter

net, (x,) = graphdoctor_target()
{before}
counter = CompileCounter()
torch.compile(net, backend=counter)(x)
print(counter.frame_count)
"""


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from torch.distributions import kl_divergence", "kl_divergence"),
        ("", "torch.distributions.kl.kl_divergence"),
        ("import torch.distributions as D", "D.kl_divergence"),
    ],
)
def test_the_first_call_is_found(tmp_path: Path, imported: str, called: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(imported=imported, called=called))
    assert [(f.rule, f.location.line) for f in analyse([(file, "net.py")]).findings] == [("GD405", 13)]


@pytest.mark.parametrize(("before", "graphs"), [("", 2), ("net(x)", 1)])
def test_it_breaks_where_nothing_called_it_before(tmp_path: Path, before: str, graphs: int) -> None:
    text = SOURCE.format(imported="", called="torch.distributions.kl_divergence") + RUN.format(before=before)
    (tmp_path / "run.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == [str(graphs)]
