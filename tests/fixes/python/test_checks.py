"""Checks of tensors that read them on the host."""

from __future__ import annotations

from typing import Any


def test_what_checks_tensors_has_a_form_in_the_graph_whatever_is_known_of_its_argument(fixed: Any, runner: Any) -> None:
    """As the helper of a library is written, which is called with what nothing is known of."""
    import torch

    source = """\
import torch
from json import loads as unknown


def check(cond):
    if isinstance(cond, torch.Tensor):
        torch._check_tensor_all(cond)


def f(x, made=unknown):
    check(made(x))
    return x * 2


class Net(torch.nn.Module):
    def forward(self, x):
        return f(x)
"""
    result = fixed(source, unsafe=True)
    assert "torch._assert_async(cond.all()" in result.text
    called = result.text.replace("made=unknown", "made=lambda x: x > 0")
    x = torch.ones(4)
    assert runner.compiled(source.replace("made=unknown", "made=lambda x: x > 0"), x).breaks
    done = runner.compiled(called, x, fullgraph=True)
    assert done.graphs == 1 and torch.equal(done.value, x * 2)
