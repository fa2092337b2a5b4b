"""What is an input of the graph that an operator changes in place, and the rewrite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


def f(x: torch.Tensor, rows: list[torch.Tensor]):
    {}
    return x * 2
"""


@pytest.mark.parametrize(
    ("body", "breaks"),
    [
        ("x.t_()", True),
        ("x = x.float()\n    x.t_()", False),
        ("rows[0].squeeze_(0)", True),
        ("x = rows[0] + rows[1]\n    x.unsqueeze_(0).squeeze_(0)", False),
        ("x, y = x.chunk(2)\n    y.squeeze_(0)", False),
        ("x.mul_(2).t_()", False),
    ],
)
def test_what_the_graph_computes_may_be_changed(
    tmp_path: Path, splits: Callable[..., bool], body: str, breaks: bool
) -> None:
    torch = pytest.importorskip("torch")
    source = SOURCE.format(body)
    assert [rule for rule, _ in findings(tmp_path, source)] == (["GD520"] if breaks else [])
    assert splits(source, "f", torch.rand(2, 3), [torch.rand(1, 3), torch.rand(1, 3)]) is breaks


OF_GRADIENT = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        grad = self.layer.weight.grad
        if grad is not None:
            {}
        return self.layer(x)


net = Net()
net(torch.ones(4, 2)).sum().backward()
"""


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("grad.t_()", ["GD520"]),
        ("grad = grad.transpose_(0, 1)", ["GD520"]),
        ("grad.detach_()", ["GD501"]),
        ("grad = grad.t().contiguous().t_()", []),
        ("grad.zero_()", []),
    ],
)
def test_the_gradient_of_a_parameter_is_an_input(
    tmp_path: Path, splits: Callable[..., bool], body: str, rules: list[str]
) -> None:
    torch = pytest.importorskip("torch")
    source = OF_GRADIENT.format(body)
    assert [rule for rule, _ in findings(tmp_path, source)] == rules
    assert splits(source, "net", torch.rand(4, 2)) is bool(rules)


def test_a_tensor_from_before_a_break_is_an_input(tmp_path: Path) -> None:
    source = SOURCE.format("x = x + 1\n    print(x)\n    x.t_()")
    assert [rule for rule, _ in findings(tmp_path, source)] == ["GD101", "GD520"]


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("x.transpose_(0, 1)", "x = x.transpose(0, 1)"),
        ("x.unsqueeze_(dim=-1)", "x = x.unsqueeze(dim=-1)"),
        ("x = x.t_()", "The value of the call is used, or the tensor has no name of its own."),
        ("rows[0].t_()", "The value of the call is used, or the tensor has no name of its own."),
    ],
)
def test_the_name_is_bound_to_a_new_view(tmp_path: Path, body: str, made: str) -> None:
    ((_, fix),) = findings(tmp_path, SOURCE.format(body))
    assert fix == made


def findings(folder: Path, source: str) -> list[tuple[str, str]]:
    """The rule of each finding, with the code that its fix writes or why there is none."""
    file = folder / "model.py"
    file.write_text(source.replace("def f(", "@torch.compile\ndef f("))
    found = analyse([(file, "model.py")]).findings
    return [(f.rule, f.fix.edits[0].text if f.fix and f.fix.edits else f.fix.reason if f.fix else "") for f in found]
