"""What is suggested for an assert on tensor data."""

from __future__ import annotations

import pytest

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
