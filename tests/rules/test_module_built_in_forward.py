"""What is said of a parameter whose module is made in compiled code."""

from __future__ import annotations

from pathlib import Path

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return x * self.weight


class Net(nn.Module):
    def forward(self, x):
        return Scale()(x)
"""


def test_the_parameter_of_a_module_stays_one(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    (finding,) = analyse([(file, "net.py")]).findings
    assert (finding.rule, finding.location.line) == ("GD504", 8)
    assert finding.fix is not None and finding.fix.safety == "manual"
    assert finding.fix.reason == "It belongs to a module: make the module before the compiled code, and pass it in."


HEAD = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"


def _fix(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "net.py"
    file.write_text(HEAD + "".join(f"        {line}\n" for line in lines))
    (finding,) = [found for found in analyse([(file, "net.py")]).findings if found.rule == "GD504"]
    assert finding.fix is not None
    return "".join(edit.text for edit in finding.fix.edits) or finding.fix.reason


def test_a_parameter_that_gradients_are_taken_of_stays_one(tmp_path: Path) -> None:
    lines = ("p = nn.Parameter(x.detach())", "(g,) = torch.autograd.grad((p * p).sum(), (p,))", "return g")
    sentence = "The function takes gradients: what it takes them of must require them before the call."
    assert _fix(tmp_path, *lines) == sentence


def test_what_is_detached_is_not_detached_again(tmp_path: Path) -> None:
    assert _fix(tmp_path, "return x + nn.Parameter(x.detach())") == "x.detach()"
    assert _fix(tmp_path, "return x + nn.Parameter(x * 2)") == "(x * 2).detach()"
