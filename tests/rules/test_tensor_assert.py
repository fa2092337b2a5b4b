"""What is suggested for an assert on tensor data."""

from __future__ import annotations

import pytest
import torch

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


@torch.compile
def f(x):
    {start}:
        assert x.norm() < 10, f"exploded: {{x.norm()}}"
    {end}
    return x * 2
"""


@pytest.mark.parametrize(
    ("start", "end", "suggestion"),
    [
        ("try", "except AssertionError:\n        x = x / x.norm()", "choose with `torch.where`"),
        ("if x.dim() == 1", "x = x + 1", "make the message a plain string literal"),
        ("try", "finally:\n        x = x + 1", "make the message a plain string literal"),
    ],
)
def test_a_handler_does_not_see_what_fails_inside_the_graph(tmp_path, start, end, suggestion):
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(start=start, end=end))
    found = [f for f in analyse([(file, file.name)]).findings if f.rule == "GD203"]
    assert len(found) == 1 and found[0].suggestion.startswith(suggestion)


OPTIONAL = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x, mask: torch.Tensor | None = None, bias: torch.Tensor | None = None):
        assert not mask, "masks are not supported"
        assert not mask and not bias
        return x.softmax(-1) if mask is None else x.masked_fill(mask, 0.0)
"""


def test_that_an_optional_tensor_is_not_given_may_be_asserted(tmp_path):
    file = tmp_path / "net.py"
    file.write_text(OPTIONAL)
    assert not analyse([(file, file.name)]).findings
    namespace = {}
    exec(compile(OPTIONAL, str(file), "exec"), namespace)
    torch._dynamo.reset()
    torch.compile(namespace["Net"](), backend="eager", fullgraph=True)(torch.rand(4, 8))
