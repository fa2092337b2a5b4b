"""A function of torch is asked for its parameters, as libraries do that support several versions."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse


@pytest.mark.parametrize(
    ("asked", "breaks"),
    [
        ('"indexing" in torch.meshgrid.__kwdefaults__', True),
        ('"indexing" not in torch.meshgrid.__annotations__', True),
        ('"size" in F.interpolate.__code__.co_varnames', True),
        ('torch.meshgrid.__kwdefaults__ is not None and "indexing" in torch.meshgrid.__kwdefaults__', True),
        ("torch.meshgrid.__kwdefaults__ is not None", False),
        ('"bias" in torch.nn.Linear.__init__.__code__.co_varnames', False),
        ('"weights_only" in torch.load.__code__.co_varnames', False),
        ('"y" in own.__kwdefaults__', False),
    ],
)
def test_the_parameters_of_a_function(tmp_path: Path, asked: str, breaks: bool) -> None:
    torch = pytest.importorskip("torch")
    source = f"""\
import torch
import torch.nn.functional as F


def own(x, *, y=1):
    return x


def f(x: torch.Tensor):
    if {asked}:
        x = x + 1
    return x * 2


compiled = torch.compile(f)
"""
    file = tmp_path / "asks.py"
    file.write_text(source)
    found = [(finding.rule, finding.location.line) for finding in analyse([(file, file.name)]).findings]
    assert found == [("GD405", 10)] * breaks
    names: dict[str, object] = {"__name__": "asks"}
    exec(source, names)
    torch._dynamo.reset()
    whole = torch.compile(names["f"], backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported) if breaks else nullcontext():
        whole(torch.rand(3))
