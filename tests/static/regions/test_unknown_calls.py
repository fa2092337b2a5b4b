"""Compiled models that are called with what is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x=None, labels=None):
        logits = self.linear(x)
        if labels is not None:
            valid = labels != -100
            return nn.functional.cross_entropy(logits[valid], labels[valid])
        return logits


net = torch.compile(Net())
for batch in load():
    net({arguments})
"""


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("**batch", [14, 14]),
        ("*batch", [14, 14]),
        ("batch, batch", [14, 14]),
        ("torch.rand(4, 8)", []),
        ("x=batch", []),
    ],
)
def test_what_a_batch_may_hold_is_expected(tmp_path: Path, arguments: str, lines: list[int]) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(arguments=arguments))
    assert [f.location.line for f in analyse([(file, "net.py")]).findings if f.rule == "GD302"] == lines


def test_what_a_function_gets_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "loss.py"
    file.write_text(
        "import torch\n\n\n@torch.compile\ndef loss(scores, labels=None):\n    return scores[scores > 0].sum()\n\n\n"
        "for batch in load():\n    loss(*batch)\n"
    )
    assert [f.rule for f in analyse([(file, "loss.py")]).findings] == ["GD302"]


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("x + valid.sum() if valid.any() else x", ["GD201"]),
        ("x + kind[valid].sum()", ["GD302"]),
        ("x + 1 if valid else x", []),
        ("x + 1 if valid and x.ndim > 1 else x", []),
    ],
)
def test_what_is_compared_and_then_counted_is_a_tensor(tmp_path: Path, use: str, found: list[str]) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"import torch\n\n\n@torch.compile\ndef f(x, kind):\n    valid = kind != -100\n    return {use}\n")
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found


GIVEN = """
import torch

__all__ = ["solve"]


def solve(function, x: torch.Tensor):
    found = function(x)
    {use}
    return x * 2
"""


@pytest.mark.parametrize(
    ("use", "rules"),
    [
        ("if found.numel() == 1: x = x * float(found)", ["GD214"]),
        ("if found.requires_grad and found > 0: return found", ["GD201"]),
        ("if float(found) > 0: return x", []),
        ("if found.shape[0] > 2 and found.numel() > 0: return x", []),
        ("if found.mode == 1: x = x * float(found)", []),
        ("left, right = function(x)\n    if right.numel() > 0 and right > 0: return x", ["GD201"]),
        ("kept = x + float(function.kept)\n    for one in function.left: kept = one.item()", ["GD211"]),
        (
            "mask = function['mask']\n    if mask.is_sparse and mask.requires_grad and float(mask) > 0: return x",
            ["GD214"],
        ),
        # It may be something else.
        ("x = x * (found.item() if torch.is_tensor(found) else float(found))", ["GD211"]),
        ("if isinstance(found, float) and found > 0: return x\n    x = x + found.new_zeros(3)", []),
        ("if function.requires_grad: function = function.next()\n    if float(function) > 0: return x", []),
        # It is bound twice, so what the use shows is said of one of the two.
        ("if x.ndim > 1: found = len(function(x))\n    if found > 0: return found.numel()", []),
        ("if torch.autograd.grad(x.sum(), x)[0].sum() > 0: return x", ["GD501", "GD201"]),
        ("if torch.autograd.grad(x.sum(), x, allow_unused=True)[0] is None: return x", ["GD501"]),
        ("if function.left.dot(x) > 0: return x", ["GD201"]),
        ("if function.left.put(x) > 0: return x", []),
        ("if function.left.dot(3) > 0: return x", []),
    ],
)
def test_what_an_unknown_function_gives_is_known_by_its_use(tmp_path: Path, use: str, rules: list[str]) -> None:
    file = tmp_path / "solve.py"
    file.write_text(GIVEN.format(use=use))
    assert [f.rule for f in analyse([(file, "solve.py")]).findings] == rules
