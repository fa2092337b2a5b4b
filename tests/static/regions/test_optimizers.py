"""Optimizers of a library: users compile their ``step``."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Truth
from graphdoctor.static.domain.values import Tensor

OPTIMIZER = """
import torch
from torch.optim import Optimizer

__all__ = ["Scaled"]

class Scaled({base}):
    def __init__(self, params, lr=1e-3, clamp=10.0):
        super().__init__(params, {{"lr": lr}})
        self.clamp = clamp

    @torch.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                state["step"] += 1
                if state["step"] > 10 and group["lr"] > 0:
                    p.add_(p.grad, alpha=-group["lr"])
                norm = torch.norm(p).clamp(0, self.clamp)
                if norm == 0:
                    norm = torch.ones_like(norm)
                p.add_(p.grad / norm, alpha=-group["lr"])
        return loss
"""


@pytest.mark.parametrize(("base", "asked"), [("Optimizer", {"Scaled.step"}), ("object", set())])
def test_the_step_of_a_public_optimizer_is_entered(events, base, asked):
    found = events(OPTIMIZER.format(base=base))
    assert {e.site.function for e in found if isinstance(e, Truth) and type(e.value) is Tensor} == asked


def test_what_a_group_holds_is_not_known_by_its_place_beside_others(tmp_path):
    file = tmp_path / "model.py"
    values = "grad, lr, low, high, careful = p.grad, group['lr'], *group['betas'], group['careful']"
    lines = f"{values}\n                grad = grad * 2 if careful else grad\n                norm = torch.norm"
    file.write_text(OPTIMIZER.format(base="Optimizer").replace("norm = torch.norm", lines))
    found = analyse([(file, file.name)]).findings
    assert [file.read_text().splitlines()[f.location.line - 1].strip() for f in found] == ["if norm == 0:"]


def test_what_an_optimizer_keeps_of_a_parameter_is_known_where_it_was_put(tmp_path):
    file = tmp_path / "model.py"
    kept = "state['norm'] = norm if group['careful'] else 1.0\n                "
    asked = "if torch.is_tensor(state['norm']):\n                    norm = norm * 2\n                "
    asked += "elif state['norm'] == 1:\n                    norm = norm * 3\n                if norm == 0"
    file.write_text(OPTIMIZER.format(base="Optimizer").replace("if norm == 0", kept + asked))
    found = analyse([(file, file.name)]).findings
    assert [file.read_text().splitlines()[f.location.line - 1].strip() for f in found] == ["if norm == 0:"]


@pytest.mark.parametrize(
    ("base", "method", "sure"),
    [("torch.optim.Optimizer", "step(self)", True), ("torch.nn.Module", "forward(self, x)", False)],
)
def test_only_an_optimizer_surely_finds_gradients(events, base: str, method: str, sure: bool) -> None:
    found = events(f"""
        import torch

        __all__ = ["Own"]

        class Own({base}):
            def {method}:
                weight = torch.nn.Parameter(torch.ones(2))
                if weight.grad is None or weight.grad.sum() > 1:
                    return None
    """)
    (asked,) = [event for event in found if isinstance(event, Truth)]
    assert asked.site.optional is not sure
