"""``graphdoctor run`` on programs that compile again: whose argument it was, and advice that ends it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

PROGRAM = """\
import functools
import torch
import torch.nn.functional as F


def with_mean(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        out = function(*args, **kwargs)
        return out, out.mean()
    return wrapper


@torch.compile(backend="eager")
@with_mean
def project(points, camera):
    return points @ camera


@torch.compile(backend="eager")
def decode(cache, row, pos):
    cache[:, pos] = row
    return cache.sum()


@torch.compile(backend="eager")
def refine(x, rounds):
    for _ in range(rounds):
        x = x - torch.tanh(x)
    return x


@torch.compile(backend="eager")
def dropped(x, p):
    return F.dropout(x, p)


class Sampler:
    @torch.no_grad()
    def sample(self, x, scale):
        return x * scale


sample = torch.compile(Sampler().sample, backend="eager")
for number in range(2, 6):
    project(torch.rand(number, 3), camera=torch.eye(3))
    decode(torch.zeros(4, 16), torch.ones(4), number)
    refine(torch.rand(4), number)
    dropped(torch.rand(4), number / 10)
    sample(torch.rand(4), number)
"""


def test_each_recompile_names_the_users_argument_and_what_ends_it(
    graphdoctor: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    report = tmp_path / "report.json"
    graphdoctor("run", "--output-format", "json", "--output", str(report), "train.py", cwd=tmp_path)
    told = json.loads(report.read_text())
    (run,) = told["dynamic"]
    lines = PROGRAM.splitlines()
    found = {each["name"]: (lines[each["line"] - 1].strip(), each["remedy"]) for each in run["recompiles"]}
    assert {name: place for name, (place, _) in found.items()} == {
        "points": '@torch.compile(backend="eager")',
        "pos": "cache[:, pos] = row",
        "rounds": "for _ in range(rounds):",
        "p": "return F.dropout(x, p)",
        "scale": "return x * scale",
    }
    starts = {
        "points": "torch.compile(dynamic=True)",
        "pos": "a number beside other indices is compiled again",
        "rounds": "the loop is unrolled",
        "p": "one compilation for each value is the least: the code needs it as a number",
        "scale": "a number that changes is dynamic from its second value on",
    }
    assert {name: remedy for name, (_, remedy) in found.items() if not remedy.startswith(starts[name])} == {}
    predicted = {finding["guarded"]["name"]: finding["status"] for finding in told["findings"]}
    assert predicted == dict.fromkeys(["pos", "rounds", "p", "scale"], "confirmed")
    assert "predicted recompile cause" not in told["summary"]["headline"]


@pytest.mark.parametrize(
    ("use", "argument", "compiled"),
    [
        ("cache[:, pos]", "pos", 6),
        ("cache[:, pos]", "torch.tensor(pos)", 6),
        ("cache[:, pos]", "torch.tensor([pos])", 1),
        ("cache[:, pos : pos + 1]", "pos", 2),
        ("cache.select(1, pos)", "pos", 2),
        ("cache[pos]", "pos", 2),
        ("cache[pos]", "torch.tensor(pos)", 6),
    ],
)
def test_what_an_index_that_changes_costs(use: str, argument: str, compiled: int) -> None:
    """The facts behind the advice for an index."""
    torch.compiler.reset()
    graphs: list[Any] = []

    def count(graph: Any, _inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    space: dict[str, Any] = {"torch": torch, "cache": torch.zeros(16, 16)}
    exec(f"def f(pos):\n    return {use} * 2", space)
    f = torch.compile(space["f"], backend=count)
    for pos in range(2, 8):
        space["pos"] = pos
        f(eval(argument, space))
    assert len(graphs) == compiled
