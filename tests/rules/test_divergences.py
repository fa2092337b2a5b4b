"""``kl_divergence`` breaks where it is called for the first time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from graphdoctor.rules._untraced_functions import ONE_FORMULA

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


@pytest.mark.parametrize("form", ["{}", "torch.distributions.Independent({}, 0)"])
@pytest.mark.parametrize("name", sorted(ONE_FORMULA))
def test_of_what_has_one_formula_nothing_is_compared(
    tmp_path: Path, splits: Callable[..., bool], name: str, form: str
) -> None:
    torch = pytest.importorskip("torch")
    made = {"Laplace": "x, 1.0", "Cauchy": "x, 1.0", "Uniform": "x, x + 1"}
    made = form.format(f"torch.distributions.{name}({made.get(name, 'logits=x')})")
    source = (
        f"import torch\n\n\n@torch.compile\ndef f(x):\n    return torch.distributions.kl_divergence({made}, {made})\n"
    )
    file = tmp_path / "model.py"
    file.write_text(source)
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == []
    torch.distributions.kl._KL_MEMOIZE.clear()
    assert not splits(source.replace("@torch.compile\n", ""), "f", torch.rand(3))


def test_independent_ones_are_compared_like_those_they_are_made_of(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    made = "torch.distributions.Independent(torch.distributions.Normal(x, 1.0), 1)"
    call = f"torch.distributions.kl_divergence({made}, {made})"
    file.write_text(f"import torch\n\n\n@torch.compile\ndef f(x):\n    return {call}\n")
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == ["GD405"]
