"""What is advised for numbers that change where a tensor cannot take their place: GD701, GD704 and GD706."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphdoctor.lint.engine import analyse

COUNTER = """\
import torch
import torch.nn as nn


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        {start}

    def forward(self, x):
        {use}
        self.pos += 1
        return y


net = torch.compile(Cache(), backend="eager")
for _ in range(6):
    net(torch.zeros(16, 16))
"""
NUMBER = "self.pos = 0"
NO_SCALAR = 'self.register_buffer("pos", torch.tensor([0]))'


def _compilations(file: Path) -> tuple[int, int]:
    """How often the code of ``file`` is compiled, and how often its graph breaks."""
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters
    counters.clear()
    exec(compile(file.read_text(), str(file), "exec"), {"__name__": "counted"})
    return counters["frames"]["total"], sum(counters["graph_break"].values())


def _suggestion(file: Path, rule: str) -> str:
    (finding,) = [f for f in analyse([(file, file.name)]).findings if f.rule == rule]
    assert finding.suggestion is not None
    return finding.suggestion


@pytest.mark.parametrize(
    ("use", "suggestion", "start"),
    [
        ("y = x[:, self.pos]", "count in a tensor buffer with one element", NO_SCALAR),
        ("y = x * self.pos", "count outside the compiled function, or keep the count in a tensor buffer", NO_SCALAR),
        ("y = x[self.pos]", "count outside the compiled function, and pass the number in", NUMBER),
        ("y = x * 2 if self.pos % 2 else -x", "count outside the compiled function, and pass the result", NUMBER),
        ("y = [x + i for i in range(self.pos + 1)][-1]", "compile the body in place of the loop", NUMBER),
    ],
)
def test_a_counter(tmp_path: Path, use: str, suggestion: str, start: str) -> None:
    file = tmp_path / "cache.py"
    file.write_text(COUNTER.format(start=NUMBER, use=use))
    assert _suggestion(file, "GD701").startswith(suggestion)
    assert _compilations(file)[0] == 6
    file.write_text(COUNTER.format(start=start, use=use))
    assert _compilations(file) == ((1, 0) if start == NO_SCALAR else (6, 0))


WRITTEN = """\
import torch
import torch.nn as nn


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.epoch = 0

    def forward(self, x):
        {use}
        return x


net = torch.compile(Loss(), backend="eager")
for epoch in range(6):
    net.epoch = epoch
    net(torch.zeros(16, 16))
"""


@pytest.mark.parametrize(
    ("use", "suggestion"),
    [
        ("x = x * self.epoch", "keep the number in a buffer"),
        ("x = x[:, self.epoch]", "keep it in a buffer with one element"),
        ("x = x * 2 if self.epoch > 3 else -x", "write it seldom"),
        ("x = x[self.epoch]", "pass it as an argument"),
    ],
)
def test_an_attribute_that_the_loop_writes(tmp_path: Path, use: str, suggestion: str) -> None:
    file = tmp_path / "loss.py"
    file.write_text(WRITTEN.format(use=use))
    assert _suggestion(file, "GD704").startswith(suggestion)
    assert _compilations(file)[0] == 6


@pytest.mark.parametrize(
    ("use", "suggestion"),
    [
        ("x * STEP", "pass it as a 0-d tensor, or keep"),
        ("x[:, STEP]", "write a slice"),
        ("x[STEP]", "leave it a number"),
    ],
)
def test_a_global(tmp_path: Path, use: str, suggestion: str) -> None:
    file = tmp_path / "train.py"
    file.write_text(
        f"import torch\n\nSTEP = 0\n\n\n@torch.compile\ndef f(x):\n    return {use}\n\n\n"
        "for STEP in range(9):\n    f(torch.rand(16, 16))\n"
    )
    assert _suggestion(file, "GD706").startswith(suggestion)


@pytest.mark.parametrize(
    ("changes", "found", "compilations"),
    [
        ("net.epoch = epoch", 1, 6),
        ("net.epoch = epoch / 10", 0, 2),
        ("net.other = epoch", 0, 1),
        ("pass", 0, 1),
    ],
)
def test_an_attribute_of_the_module_that_was_compiled(
    tmp_path: Path, changes: str, found: int, compilations: int
) -> None:
    file = tmp_path / "loss.py"
    text = WRITTEN.format(use="x = x * self.epoch").replace("    net.epoch = epoch", f"    {changes}")
    compiled = 'torch.compile(Loss(), backend="eager")'
    text = text.replace(compiled, 'Loss()\nfast = torch.compile(net, backend="eager")').replace("    net(", "    fast(")
    file.write_text(text)
    assert len([f for f in analyse([(file, "loss.py")]).findings if f.rule == "GD704"]) == found
    assert _compilations(file)[0] == compilations
