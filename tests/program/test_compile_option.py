"""``graphdoctor run --compile``: programs that compile nothing are asked whether they could."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from graphdoctor import cli

Command = Callable[..., subprocess.CompletedProcess[str]]

PLAIN = """\
import torch
from torch import nn

class Inner(nn.Module):
    def forward(self, x):
        return x.relu()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.inner = nn.Linear(4, 4), Inner()

    def forward(self, x):
        x = self.inner(self.linear(x))
        if x.sum() > 0:
            x = x + 1
        return x

torch.manual_seed(0)
net, loss = Net(), nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    value = loss(net(torch.ones(2, 4)), torch.zeros(2, 4))
    value.backward()
    optimizer.step()
print(f"{value.item():.6f}")
"""


def report(graphdoctor: Command, folder: Path, text: str, *options: str) -> tuple[str, dict[str, Any]]:
    (folder / "train.py").write_text(text)
    file = folder / "report.json"
    done = graphdoctor("run", "--output-format", "json", "--output", str(file), *options, "train.py", cwd=folder)
    return done.stdout, json.loads(file.read_text()) if file.exists() else {"stderr": done.stderr}


def uncompiled(folder: Path) -> str:
    """What the program prints without graphdoctor; it runs in this process, which has imported torch."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(folder / "train.py"))
    return printed.getvalue()


def test_only_the_class_that_is_named_is_compiled(graphdoctor: Command, tmp_path: Path) -> None:
    _, found = report(graphdoctor, tmp_path, PLAIN, "--compile", "Net")
    assert "compiled by --compile, with the backend eager: Net" in found["notes"]


def test_class_that_is_not_called_is_told(graphdoctor: Command, tmp_path: Path) -> None:
    _, found = report(graphdoctor, tmp_path, PLAIN, "--compile", "Nett")
    assert found["stderr"] == (
        "graphdoctor: nothing was compiled: no module of that class was called; train.py calls MSELoss, Net\n"
    )


def test_program_that_compiles_is_left_alone(graphdoctor: Command, tmp_path: Path) -> None:
    text = PLAIN.replace("for _ in", "net(torch.ones(1, 4))\nnet = torch.compile(net, backend='eager')\nfor _ in")
    _, found = report(graphdoctor, tmp_path, text, "--compile", "auto")
    assert "--compile auto stopped where the program compiled something itself" in found["notes"]
    assert [f["status"] for f in found["findings"]] == ["confirmed"]


AGENT = """\
import copy
import torch
from torch import nn

class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.critic = nn.Sequential(nn.Linear(4, 2), nn.Tanh()), nn.Linear(4, 1)
        self.critic(torch.ones(1, 4))

    def value(self, x):
        print(x.shape[0])
        return self.critic(x).sum()

    @torch.no_grad()
    def act(self, x):
        return self.actor(x).sum() + self.value(x)

torch.manual_seed(0)
agent = Agent()
twin = copy.deepcopy(agent)
nn.init.zeros_(twin.critic.weight)
for number in range(3):
    print(agent.act(torch.ones(2, 4)), agent.value(torch.ones(3, 4)), twin.value(torch.ones(3, 4)))
"""


def test_methods_of_a_module_without_forward_are_compiled(graphdoctor: Command, tmp_path: Path) -> None:
    compiled, found = report(graphdoctor, tmp_path, AGENT, "--compile", "auto")
    assert compiled == uncompiled(tmp_path) != ""
    assert [(f["rule"], f["line"], f["status"]) for f in found["findings"]] == [("GD101", 12, "confirmed")]
    # The layer that the constructor calls is compiled alone.
    assert "compiled by --compile, with the backend eager: Agent.act, Agent.value, Linear" in found["notes"]
    assert [file["path"] for file in found["files"]] == ["train.py"]


CRITIC = """\
import torch
from torch import nn

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.rest = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 1))

    def forward(self, x):
        return self.rest(self.first(x).relu())

    def q1(self, x):
        x = self.first(x)
        print(x.shape[0])
        return self.rest(x)

    def act(self, x):
        with torch.no_grad():
            return self.forward(x).sum().item()

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Part(), Part()

    def forward(self, x):
        return self.one(x) + self.two(x)

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)

torch.manual_seed(0)
critic, other, pair = Critic(), Critic(), Pair()
for number in range(3):
    print(critic(torch.ones(2, 4)).sum(), critic.q1(torch.ones(2, 4)).sum(), other.act(torch.ones(2, 4)))
    print(pair.forward(torch.ones(2, 4)))
# What is stored in a module changes what is compiled around it.
print([name for module in critic.modules() for name in vars(module) if "compiled" in name])
"""


def test_outermost_modules_are_compiled_and_methods_that_call_layers_and_not_the_layers(
    graphdoctor: Command, tmp_path: Path
) -> None:
    compiled, found = report(graphdoctor, tmp_path, PLAIN + CRITIC, "--compile", "auto")
    assert compiled == uncompiled(tmp_path) != ""
    assert sorted((f["rule"], f["line"], f["status"]) for f in found["findings"]) == [
        ("GD101", len(PLAIN.splitlines()) + 14, "confirmed"),
        ("GD201", 15, "confirmed"),
    ]
    # The loss has no parameters.
    names = "Critic, Critic.forward, Critic.q1, Net, Pair.forward"
    assert f"compiled by --compile, with the backend eager: {names}" in found["notes"]
    assert [run["mode"] for run in found["dynamic"]] == ["train"]
    assert not [
        cause for run in found["dynamic"] for cause in run["recompiles"] if "_compiled_call_impl" in cause["guard"]
    ]


@pytest.mark.parametrize("follows", ["--html", "train.py"])
def test_what_follows_is_not_taken_for_a_class(follows: str) -> None:
    done = CliRunner().invoke(cli.cli, ["run", "--compile", follows, "train.py"])
    line = f"graphdoctor: --compile needs auto, or the name of a class, before what follows: --compile auto {follows}\n"
    assert (done.exit_code, done.stderr) == (2, line)
