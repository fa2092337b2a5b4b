"""``graphdoctor run --save-sample`` and ``--verify``: a program's first call, run again by a scan."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

CONFIGURED = """\
import sys
import torch
from torch import nn
from helper import scaled

LIMIT = float(sys.argv[1])

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, *, shift):
        x = scaled(self.linear(x)) + shift
        if x.sum() > LIMIT:
            x = x + 1
        return x

weight = nn.Linear(4, 4)

@torch.compile(backend="eager")
def start(x):
    y = scaled(weight(x))
    print("start")
    return y.relu()

net = torch.compile(Net(int(sys.argv[2])), backend="eager")
for step in range(3):
    net(torch.rand(2, 4), shift=step)
start(torch.rand(2, 4))
raise SystemExit(0)
"""

SETTING = """\
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 4)

    def forward(self, x):
        y, _ = self.rnn(x)
        return y * y.sum().item()

torch._dynamo.config.capture_scalar_outputs = True
torch.compile(Tagger(), backend="eager")(torch.rand(3, 2, 4))
"""


SCALING = "def scaled(x):\n    return x * 2\n"
NET = """\
from torch import nn
from scaling import scaled

class Net(nn.Module):
    def forward(self, x):
        print("net")
        return scaled(x).relu()
"""
STARTS = """\
import os, sys
HERE = os.path.dirname(__file__)
sys.path.append(HERE + "/../appended")
sys.path.insert(0, HERE + "/../inserted/..")
import torch
from inserted.net import Net

torch.compile(Net(), backend="eager")(torch.rand(3))
"""
TWO = """\
import torch
from torch import nn

class First(nn.Module):
    def forward(self, x):
        return x.sin()

class Second(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        return x * 2

first, second = (torch.compile(net(), backend="eager") for net in (First, Second))
second(first(torch.rand(3)))
"""

#: The first line that breaks ends compiling, and the source does not show that the attribute is no tensor.
BEHIND = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = torch.tensor(0.5)

    def forward(self, x):
        for step in range(2):
            print("step")
            x = x + 1
        if x.sum() > 0:
            x = x + 1
        if self.limit > 0.1:
            return x * 2
        return x

net = Net()
net.__dict__.update(limit=0.5)
torch.compile(net, backend="eager")(torch.rand(2, 4))
"""
#: With its fix the first break is gone, and the second one stays.
STAYS = """\
import torch

@torch.compile(backend="eager")
def step(x):
    for number in range(2):
        print("step")
        torch._dynamo.graph_break()
    scale = x.max().item()
    return x * scale

step(torch.rand(2, 4))
"""

#: What is compiled, and what its modules hold, has no name that an import would find.
NAMELESS = """\
import torch
from torch import nn

def doubled(how):
    def double(x):
        print("double")
        return how(x) * 2
    return double

class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.activation = lambda x: x.relu()
        self.linear.register_forward_hook(self.noting("linear"))

    def noting(self, name):
        def hook(module, args, result):
            print(name)
        return hook

    def act(self, x, scale=1.0):
        return self.activation(self.linear(x)) * scale

def main():
    agent = Agent()
    act = torch.compile(agent.act, backend="eager")
    decay = torch.tensor(0.5)

    def total(x, depth=2):
        return x if not depth else total(x + decay, depth - 1)

    @torch.compile(backend="eager")
    def train_step(x):
        loss = total(act(x)).mean()
        print("loss")
        return loss * 2

    act(torch.rand(2, 4), scale=2.0)
    train_step(torch.rand(2, 4))

main()
torch.compile(lambda x: doubled(torch.sin)(x), backend="eager")(torch.rand(3))
"""

#: The classes of the model read globals that are no plain values.
GLOBALS = """\
import logging, threading
import torch
from torch import nn
from types import SimpleNamespace

logger = logging.getLogger(__name__)
options = SimpleNamespace(scale=2.0)
lock = threading.Lock()
table = torch.ones(3)

class Scale:
    def __call__(self, x):
        return x * options.scale + table

class Layer(nn.Module):
    def forward(self, x):
        logger.debug("layer of %d", len(x))
        return Scale()(x)

def decode(model, x):
    return model(x)

if __name__ == "__main__":
    print(lock)
    {call}
"""

#: A trainer that compiles a method of a module with what the module was compiled with, as Lightning does.
TRAINED = """\
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def training_step(self, x, number):
        loss = self.linear(x).mean()
        print("step")
        return loss * number

def fit(compiled):
    module = compiled._orig_mod
    module.context = {"dynamo_ctx": compiled.dynamo_ctx, "original": module.training_step}
    module.training_step = compiled.dynamo_ctx(module.training_step)
    for number in range(3):
        module.training_step(torch.rand(2, 3), number).backward()

compiled = torch.compile(Net(), backend="eager")
copy.deepcopy(compiled)
fit(compiled)
"""

#: A method of an object that holds what cannot be pickled.
TRAINER = """\
import threading
import torch
from torch import nn

class Trainer:
    def __init__(self, model):
        self.model = model
        self.log = open(__file__)
        self.lock = threading.Lock()
        self.compiled = torch.compile(self.loss, backend="eager")

    def loss(self, x):
        out = self.model(x)
        if out.abs().max() > 100:
            out = torch.stack([out, out]).mean(0)
        return out.mean()

torch.manual_seed(0)
Trainer(nn.Linear(4, 4)).compiled(torch.rand(2, 4)).backward()
"""

CALLABLES = """\
import functools
import torch

class Twice:
    def __call__(self, x):
        print("twice")
        return x * 2

def shifted(by, x):
    print("shifted")
    return x + by

for function in (Twice(), functools.partial(shifted, 1)):
    torch.compile(function, backend="eager")(torch.rand(3))
"""

BOTH_MODES = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = x + 1
        if not self.training:
            return x * 3 if x.sum() > 0 else x
        for part in range(2):
            torch._dynamo.graph_break()
            if x.max() > 9:
                x = x * 2
        return x

net = torch.compile(Net(), backend="eager")
net(torch.rand(3))
net.eval()
net(torch.rand(3))
"""


def project(folder: Path, text: str) -> None:
    (folder / "train.py").write_text(text)
    (folder / "helper.py").write_text(SCALING)


def report(done: subprocess.CompletedProcess[str], file: Path) -> dict[str, Any]:
    assert done.returncode == 1, done.stderr
    return dict(json.loads(file.read_text()))


def places(report: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(found["path"], found["line"], found["gb_id"]) for found in report["dynamic"][0]["breaks"]]


def test_samples_break_where_their_program_does_and_fixes_are_proved_on_them(
    graphdoctor: Command, tmp_path: Path
) -> None:
    """Those of a model and of a function."""
    project(tmp_path, CONFIGURED)
    (tmp_path / "samples").mkdir()
    file = tmp_path / "report.json"
    options = ["--output-format", "json", "--output", str(file)]
    saving = ["--save-sample", "samples/first.py", "--verify"]
    ran = report(graphdoctor("run", *saving, *options, "train.py", "0.5", "4", cwd=tmp_path), file)
    assert [finding["rule"] for finding in ran["findings"]] == ["GD201", "GD101", "GD704"]
    assert ran["findings"][0]["fix"]["grade"] == "general"
    assert ran["verification"]["breaks"] == 0
    assert ran["verification"]["numerics"]["equal"] is True
    assert "fixes verified on the saved first call of Net and start" in ran["notes"]
    again = []
    for sample in ("samples/first.py", "samples/first_2.py"):
        again += places(report(graphdoctor("scan", sample, "--quick", "--mode", "eval", *options, cwd=tmp_path), file))
    assert again == places(ran)


def test_a_call_of_a_process_that_the_program_spawned(graphdoctor: Command, tmp_path: Path) -> None:
    head, _, calls = TWO.partition("first, second =")
    body = f"import multiprocessing\n\ndef work():\n    first, second ={calls.replace(chr(10), chr(10) + '    ')}\n"
    start = "if __name__ == '__main__':\n    process = multiprocessing.get_context('spawn').Process(target=work)\n"
    project(tmp_path, f"{head}\n{body}\n{start}    process.start()\n    process.join()\n")
    graphdoctor("run", "--save-sample", "first_call.py", "train.py", cwd=tmp_path)
    done = graphdoctor("scan", "first_call_2.py", "--quick", "--output-format", "json", cwd=tmp_path)
    assert [brk["gb_id"] for brk in json.loads(done.stdout)["dynamic"][0]["breaks"]] == ["GB0170"], done.stderr


def test_settings_of_torch_at_the_top_of_a_script_are_made(graphdoctor: Command, tmp_path: Path) -> None:
    """Those of the script itself, and those that a fix makes: one graph needs both."""
    project(tmp_path, SETTING)
    options = ["--verify", "--exit-zero", "--output-format", "json", "--output", "report.json"]
    assert graphdoctor("run", *options, "train.py", cwd=tmp_path).returncode == 0
    verified = json.loads((tmp_path / "report.json").read_text())
    assert [finding["rule"] for finding in verified["findings"]] == ["GD502"]
    assert verified["verification"]["fullgraph_passes"] is True


def test_fixes_are_proved_on_the_call_that_reaches_them(graphdoctor: Command, tmp_path: Path) -> None:
    """A call of which nothing breaks proves nothing of them."""
    project(tmp_path, TWO)
    done = graphdoctor("run", "--verify", "train.py", cwd=tmp_path)
    assert "note: fixes verified on the saved first call of Second\n" in done.stderr
    assert "`graphdoctor run --fix train.py` writes" in done.stderr
    saved = graphdoctor("run", "--save-sample", "first_call.py", "--verify", "train.py", cwd=tmp_path)
    assert "`graphdoctor fix first_call_2.py` writes" in saved.stderr
    fixed = graphdoctor("fix", "first_call_2.py", cwd=tmp_path)
    assert "1 fix written, 0 findings left" in fixed.stdout, fixed.stdout + fixed.stderr


def test_what_is_left_of_the_script_of_a_saved_call_is_told(graphdoctor: Command, tmp_path: Path) -> None:
    """Also in code that this call does not run."""
    project(tmp_path, TWO.replace("return x.sin()", "print('first')\n        return x.sin()"))
    graphdoctor("run", "--save-sample", "first_call.py", "train.py", cwd=tmp_path)
    done = graphdoctor("fix", "first_call.py", cwd=tmp_path)
    assert "1 fix written, 1 finding left" in done.stdout and done.returncode == 1
    assert "Not written:\n  train.py:11: GD201 [tensor-condition]" in done.stdout, done.stdout


def test_what_a_saved_call_does_not_reach_is_not_verified(graphdoctor: Command, tmp_path: Path) -> None:
    later = "    def forward(self, x, later=False):\n        if later and x.max() < 9:"
    text = TWO.replace("return x.sin()", "print(x.shape)\n        return x.sin()")
    text = text.replace("    def forward(self, x):\n        if x.sum() > 0:", later)
    project(tmp_path, f"{text}second(torch.rand(3), later=True)\n")
    done = graphdoctor("run", "--verify", "--output-format", "json", "train.py", cwd=tmp_path)
    found = {finding["rule"]: finding["fix"] for finding in json.loads(done.stderr)["findings"]}
    assert found["GD101"]["verified"] is True
    assert found["GD201"]["verified"] is False and "its line did not run" in found["GD201"]["doubts"]


def test_what_the_fixed_code_passed_is_no_error_any_more(graphdoctor: Command, tmp_path: Path) -> None:
    project(tmp_path, BEHIND)
    file = tmp_path / "report.json"
    options = ["--verify", "--report", f"json={file}"]
    done = graphdoctor("run", *options, "train.py", cwd=tmp_path)
    found = report(done, file)
    assert found["verification"]["breaks"] == 0 and found["summary"]["errors"] == 2
    statuses = [(finding["line"], finding["severity"], finding["status"]) for finding in found["findings"]]
    assert statuses == [(11, "error", "confirmed"), (13, "error", "static-only"), (15, "info", "refuted")]
    assert "train.py:15" not in done.stderr and "Found 2 errors in 1 file." in done.stderr
    assert "1 suspected break of the static analysis is not listed: with the fixes applied," in done.stderr


def test_a_line_that_ran_in_eager_only_did_run(graphdoctor: Command, tmp_path: Path) -> None:
    project(tmp_path, STAYS)
    file = tmp_path / "report.json"
    options = ["--verify", "--output-format", "json", "--output", str(file)]
    found = report(graphdoctor("run", *options, "train.py", cwd=tmp_path), file)
    (fix,) = [finding["fix"] for finding in found["findings"] if finding["rule"] == "GD211"]
    assert "did not run" not in (fix["doubts"] or "")
    assert "With the fixes, its line still runs in eager only, behind a graph break." in fix["detail"]


def test_folders_that_the_program_searches_are_searched_again(graphdoctor: Command, tmp_path: Path) -> None:
    files = {"appended/scaling.py": SCALING, "inserted/net.py": NET, "trainer/train.py": STARTS}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    trainer = tmp_path / "trainer"
    done = graphdoctor("run", "--verify", "--output-format", "json", "--output", "report.json", "train.py", cwd=trainer)
    (finding,) = report(done, trainer / "report.json")["findings"]
    assert finding["fix"]["label"] == "safe" and finding["fix"]["verified"], done.stderr


def test_methods_and_functions_without_a_name_are_saved(graphdoctor: Command, tmp_path: Path) -> None:
    """With what they close over, which is shared and may be the function itself; and made again from fixed code."""
    project(tmp_path, NAMELESS)
    file = tmp_path / "report.json"
    options = ["--verify", "--output-format", "json", "--output", str(file)]
    found = report(graphdoctor("run", *options, "train.py", cwd=tmp_path), file)
    assert "fixes verified on the saved first call of main.train_step and <lambda>" in found["notes"]
    assert all(finding["fix"]["verified"] for finding in found["findings"]), found["notes"]
    assert found["verification"]["breaks"] == 0 and found["verification"]["numerics"]["equal"] is True


@pytest.mark.parametrize(
    "call",
    [
        "torch.compile(nn.Sequential(Layer()), backend='eager')(torch.rand(3))",
        "torch.compile(decode, backend='eager')(nn.Sequential(Layer()), torch.rand(3))",
    ],
)
def test_globals_that_the_model_reads_are_saved(graphdoctor: Command, tmp_path: Path, call: str) -> None:
    project(tmp_path, GLOBALS.replace("{call}", call))
    file = tmp_path / "report.json"
    options = ["--verify", "--output-format", "json", "--output", str(file)]
    found = report(graphdoctor("run", *options, "train.py", cwd=tmp_path), file)
    assert [finding["fix"]["verified"] for finding in found["findings"]] == [True], found["notes"]


def test_the_first_call_in_each_mode_is_saved(graphdoctor: Command, tmp_path: Path) -> None:
    text = TWO.replace("if x.sum() > 0:", "if not self.training and x.sum() > 0:")
    project(tmp_path, f"{text}second.eval()\nsecond(torch.rand(3))\n")
    done = graphdoctor("run", "--save-sample", "first_call.py", "--verify", "train.py", cwd=tmp_path)
    assert "note: fixes verified on the saved first call of Second in eval mode\n" in done.stderr
    assert "graphdoctor fix first_call_3.py` writes" in done.stderr


def test_fixes_behind_a_break_are_proved_on_the_call_that_runs_them(graphdoctor: Command, tmp_path: Path) -> None:
    """A line of eval mode, and one that a break without a fix hides in train mode."""
    project(tmp_path, BOTH_MODES)
    done = graphdoctor("run", "--verify", "--output-format", "json", "train.py", cwd=tmp_path)
    fixes = [finding["fix"] for finding in json.loads(done.stderr)["findings"] if finding["rule"] == "GD201"]
    assert [fix["verified"] for fix in fixes] == [True, True]


def test_what_a_trainer_compiles_with_the_context_of_a_module_is_saved(graphdoctor: Command, tmp_path: Path) -> None:
    project(tmp_path, TRAINED)
    done = graphdoctor("run", "--verify", "--output-format", "json", "train.py", cwd=tmp_path)
    found = json.loads(done.stderr)
    assert "fixes verified on the saved first call of Net.training_step" in found["notes"]
    assert [finding["fix"]["verified"] for finding in found["findings"] if finding["rule"] == "GD101"] == [True]
    assert graphdoctor("run", "--steps", "2", "train.py", cwd=tmp_path).stdout == "step\nstep\n"


def test_calls_of_objects_and_partials_have_a_name(graphdoctor: Command, tmp_path: Path) -> None:
    project(tmp_path, CALLABLES)
    done = graphdoctor("run", "--verify", "train.py", cwd=tmp_path)
    assert "note: fixes verified on the saved first call of Twice and shifted\n" in done.stderr, done.stderr


def test_what_cannot_be_pickled_is_left_out(graphdoctor: Command, tmp_path: Path) -> None:
    """As the log file of a trainer whose method is compiled. Where the call needs it, that is told."""
    project(tmp_path, TRAINER)
    done = graphdoctor("run", "--fix", "train.py", cwd=tmp_path)
    assert "note: fixes verified on the saved first call of Trainer.loss\n" in done.stderr, done.stderr
    assert "1 fix written, 0 findings left" in done.stderr
    project(tmp_path, TRAINER.replace("out = self.model(x)", "out = self.model(x) * len(self.log.name)"))
    done = graphdoctor("run", "--verify", "train.py", cwd=tmp_path)
    assert "the saved call has no TextIOWrapper, which cannot be pickled" in done.stderr.replace("\n      ", " ")
    # A second try would say the same.
    assert done.stderr.endswith("`graphdoctor fix --unsafe-fixes train.py` writes.\n"), done.stderr


def test_call_that_cannot_be_saved_is_told(graphdoctor: Command, tmp_path: Path) -> None:
    project(tmp_path, CONFIGURED.replace("self.linear = ", "self.log = type('Log', (), {})(); self.linear = "))
    file = tmp_path / "report.json"
    options = ["--save-sample", "first.py", "--output-format", "json", "--output", str(file)]
    found = report(graphdoctor("run", *options, "train.py", "0.5", "4", cwd=tmp_path), file)
    [note] = [note for note in found["notes"] if note.startswith("the call of Net was not saved")]
    assert "Log" in note
    assert [file.name for file in tmp_path.glob("first*.py")] == ["first.py"]
    assert "first call of start" in (tmp_path / "first.py").read_text()
