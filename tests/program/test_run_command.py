"""``graphdoctor run``: the program is what it is without graphdoctor, and the report comes however it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

Command = Callable[..., subprocess.CompletedProcess[str]]

BREAKS = """\
import os, signal, sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = self.linear(x)
        if x.sum() > 0:
            x = x + 1
        print("in forward")
        return x.relu()

class Unused(nn.Module):
    def forward(self, x):
        return x.item()

net = torch.compile(Net(), backend="eager")
for _ in range(4):
    net(torch.rand(2, 4))
"""
CONDITION, PRINT = 12, 14
#: How an error about outputs that CUDA graphs have overwritten begins.
OVERWRITTEN = "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace:"
#: What jaxtyping says of a call that is right, where Dynamo traces its checks.
WRONG_TYPE = "Type-check error whilst checking the parameters of Net.forward."
#: The program as it sees itself.
SHOWS_ITSELF = """\
import json, os, sys
print(json.dumps([sys.argv, sys.path, __name__, __file__, os.getcwd(), sorted(sys.modules["__main__"].__dict__)]))
print(sys.stdin.read(), file=sys.stderr)
"""


def program(folder: Path, text: str, name: str = "train.py") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def report_of(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text()))


def places(report: dict[str, Any], path: str = "") -> list[tuple[str, str, int, str]]:
    """The findings, or those of one file."""
    found = sorted((f["rule"], f["path"], f["line"], f["status"]) for f in report["findings"])
    return [place for place in found if path in ("", place[1])]


def with_path(*folders: Path) -> dict[str, str]:
    """The environment of the tests with ``folders`` in front of its PYTHONPATH."""
    path = os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def run(
    graphdoctor: Command, folder: Path, *arguments: str, env: dict[str, str] | None = None
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The ended command and its JSON report; ``arguments`` are options, the program, and its arguments."""
    file = folder / "report.json"
    done = graphdoctor("run", "--output-format", "json", "--output", str(file), *arguments, cwd=folder, env=env)
    return done, report_of(file) if file.exists() else {}


def test_breaks_are_those_of_torch_logs_with_the_rules_and_fixes_of_the_source(
    graphdoctor: Command, tmp_path: Path
) -> None:
    program(tmp_path, BREAKS)
    done, report = run(graphdoctor, tmp_path, "--record", "kept", "train.py", env={"TORCH_LOGS": "graph_breaks"})
    assert done.returncode == 1, done.stderr
    assert places(report) == [("GD101", "train.py", PRINT, "confirmed"), ("GD201", "train.py", CONDITION, "confirmed")]
    assert all(finding["fix"]["edits"] for finding in report["findings"])
    assert report["summary"]["headline"] == "Not ready: 2 graph breaks in your code"
    assert report["dynamic"][0]["target"] == "train.py"
    assert report["environment"]["torch"] == torch.__version__
    told = {int(line) for line in re.findall(r"Graph break in user code at \S*train.py:(\d+)", done.stderr)}
    assert told == {b["line"] for b in report["dynamic"][0]["breaks"]} == {CONDITION, PRINT}
    traced = graphdoctor("trace", "kept", "--output-format", "json", cwd=tmp_path)
    assert places(json.loads(traced.stdout)) == places(report)


GIVEN_UP = """\
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = Scale(n)
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return self.lin(x) * self.scale.p

def widened(y):
    return torch.cat([y, y[:1]])

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(i) for i in range(3))

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = block(x)
            x = x + widened(x[: i + 2]).sum()
            if x.mean() > 0:
                x = x + 1
        return x

def main():
    net = torch.compile(Net(), backend="eager")
    kept = []

    @torch.compile(backend="eager")
    def grows(x):
        kept.append(x)
        return x + 1

    for _ in range(4):
        net(torch.rand(4, 8))
        grows(torch.rand(4))

main()
"""


def test_what_a_function_that_was_given_up_calls_is_compiled_alone_because_of_its_break(
    not_training: dict[str, Any],
) -> None:
    (finding,) = [finding for finding in not_training["findings"] if finding["path"] == "given_up.py"]
    line = GIVEN_UP.splitlines().index("            if x.mean() > 0:") + 1
    assert (finding["line"], finding["dropped"]) == (line, ["Net.forward"])
    advice = {(entry["name"], entry["kind"]): entry["remedy"] for entry in not_training["dynamic"][0]["recompiles"]}
    grown = advice.pop(("kept", "length"))
    assert grown == "let nothing grow in compiled code: return the value, and append it in the calling code"
    assert {name for name, _ in advice} == {"x", "y", "self.scale.p"}
    advised = f"remove the graph break at given_up.py:{line}: because of it the function is compiled separately, once for each "
    assert all(remedy.startswith(advised) for remedy in advice.values()), advice


BACKWARD = """\
import torch

net = torch.nn.Linear(4, 1)

@torch.compile(backend="eager")
def method(x):
    loss = net(x).square().mean()
    loss.backward()
    return loss.detach()

@torch.compile(backend="eager")
def function(x):
    loss = net(x).square().mean()
    torch.autograd.backward(loss)
    return loss.detach()

for _ in range(2):
    method(torch.rand(3, 4)), function(torch.rand(3, 4))
"""


def test_a_backward_pass_in_compiled_code_is_the_break_that_it_is_without_the_recorder(
    training: dict[str, Any],
) -> None:
    (ran,) = training["dynamic"]
    assert ran["mode"] == "train"
    found = [(entry["gb_id"], entry["line"]) for entry in ran["breaks"] if entry["path"] == "backward.py"]
    assert found == [("GB0123", 8), ("GB0007", 14)]


GRADIENT = """\
import torch

net = torch.nn.Linear(4, 1)

@torch.compile(backend="eager")
def step(x):
    loss = net(x).square().mean()
    print(torch.autograd.grad(loss, net.weight))
    return loss.detach()

step(torch.rand(3, 4))
"""


def test_a_gradient_alone_does_not_show_that_the_program_trains(not_training: dict[str, Any]) -> None:
    assert "gradient.py" in {entry["path"] for ran in not_training["dynamic"] for entry in ran["breaks"]}
    assert [ran["mode"] for ran in not_training["dynamic"]] == ["unknown"]


FLAG_OFF = """\
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, debug):
        super().__init__()
        self.debug = debug
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if self.debug:
                print(x)
        return x

torch.compile(Net(len(sys.argv) > 1), backend="eager")(torch.rand(2, 4))
"""


def test_the_body_of_an_if_in_a_loop_that_is_passed_over_did_not_run(not_training: dict[str, Any]) -> None:
    """The jump back to the loop has the line of the body."""
    assert places(not_training, "flag_off.py") == [("GD101", "flag_off.py", 15, "not-reached")]


LAYER_OF_TORCH = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.criterion = nn.CTCLoss()

    def forward(self, h, y, n, m):
        h = h * 2
        loss = self.criterion(h, y, n, m)
        return loss + 1

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.block = nn.Linear(4, 5), Block()

    def forward(self, x, y, n, m):
        h = self.linear(x).log_softmax(-1)
        loss = self.block(h, y, n, m)
        return loss * 2

def main():
    net = torch.compile(Net(), backend="eager")
    sizes = torch.tensor([6, 6]), torch.tensor([2, 2])
    net(torch.rand(6, 2, 4), torch.ones(2, 2, dtype=torch.long), *sizes).backward()

main()
"""


#: The line of it that calls the layer, and what is found there.
CALLS_LAYER = [("GD303", 11, "confirmed")]


def test_a_break_in_a_layer_of_torch_is_on_the_line_that_calls_the_layer(training: dict[str, Any]) -> None:
    assert LAYER_OF_TORCH.splitlines()[10] == "        loss = self.criterion(h, y, n, m)"
    assert places(training, "layer_of_torch.py") == [
        (rule, "layer_of_torch.py", line, status) for rule, line, status in CALLS_LAYER
    ]


def test_so_it_is_in_the_trace_of_a_program_that_ran_alone(graphdoctor: Command, tmp_path: Path) -> None:
    file = program(tmp_path, LAYER_OF_TORCH)
    env = {**os.environ, "TORCH_TRACE": str(tmp_path / "trace")}
    subprocess.run([sys.executable, file], env=env, check=True, timeout=100)
    report = json.loads(graphdoctor("trace", "trace", "--output-format", "json", cwd=tmp_path).stdout)
    assert places(report) == [(rule, "train.py", line, status) for rule, line, status in CALLS_LAYER]


def all_of(graphdoctor: Command, folder: Path, **texts: str) -> dict[str, Any]:
    """The report of a program that imports files with these texts: each is looked at by itself, torch imported once."""
    for name, text in texts.items():
        program(folder, text, f"{name}.py")
    program(folder, "".join(f"import {name}\n" for name in texts))
    _, report = run(graphdoctor, folder, "train.py")
    return report


@pytest.fixture(scope="module")
def not_training(graphdoctor: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("not_training")
    return all_of(graphdoctor, folder, given_up=GIVEN_UP, gradient=GRADIENT, flag_off=FLAG_OFF)


@pytest.fixture(scope="module")
def training(graphdoctor: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("training")
    return all_of(graphdoctor, folder, backward=BACKWARD, layer_of_torch=LAYER_OF_TORCH)


@pytest.mark.parametrize("as_module", [False, True])
def test_program_sees_what_python_gives_it(tmp_path: Path, root: Path, as_module: bool) -> None:
    (tmp_path / "inner").mkdir()
    program(tmp_path / "inner", SHOWS_ITSELF)
    how = ["-m", "inner.train"] if as_module else ["inner/train.py"]
    words = [*how, "--steps", "3", "-m", "x y"]
    env = with_path(root)
    plain = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, input="typed", capture_output=True, text=True, env=env
    )
    command = [sys.executable, "-m", "graphdoctor", "run", *words]
    recorded = subprocess.run(command, cwd=tmp_path, input="typed", capture_output=True, text=True, env=env)
    assert json.loads(recorded.stdout) == json.loads(plain.stdout)
    assert recorded.stderr.startswith("typed\n")


def test_sitecustomize_of_the_user_runs_too(graphdoctor: Command, tmp_path: Path, root: Path) -> None:
    (tmp_path / "site").mkdir()
    program(tmp_path / "site", "import os\nos.environ['CUSTOMIZED'] = 'yes'\n", "sitecustomize.py")
    program(tmp_path, "import os, sitecustomize\nprint(os.environ['CUSTOMIZED'], sitecustomize.__file__)\n")
    done = graphdoctor("run", "train.py", cwd=tmp_path, env=with_path(tmp_path / "site", root))
    assert done.stdout == f"yes {tmp_path / 'site' / 'sitecustomize.py'}\n"


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "train.py was killed (SIGKILL)"),
        ("os.kill(os.getpid(), signal.SIGINT)", 130, "train.py was interrupted (SIGINT)"),
        (
            f"sys.excepthook = print\nraise RuntimeError('{OVERWRITTEN}')",
            1,
            f"train.py raised RuntimeError: {OVERWRITTEN}",
        ),
        (
            "raise RuntimeError('the backend raised:\\nno memory')",
            1,
            "train.py raised RuntimeError: the backend raised: no memory",
        ),
        (
            f"raise TypeError('{WRONG_TYPE}')",
            1,
            f"train.py raised TypeError: {WRONG_TYPE}",
        ),
        ("os._exit(3)", 3, "train.py ended with exit code 3"),
    ],
)
def test_report_comes_however_the_program_ends(
    graphdoctor: Command, tmp_path: Path, end: str, code: int, words: str
) -> None:
    program(tmp_path, BREAKS + end + "\n")
    if signal.SIGINT.name in end:
        # Not everywhere does a Python that Ctrl-C ends say so.
        alone = subprocess.run([sys.executable, "-c", f"import os, signal; {end}"], capture_output=True).returncode
        if alone >= 0:
            code, words = alone, f"train.py ended with exit code {alone}"
    done, report = run(graphdoctor, tmp_path, "train.py")
    assert done.returncode == code, done.stderr
    assert [line for _, _, line, _ in places(report)] == [PRINT, CONDITION]
    assert report["notes"][0] == f"{words}; this is what it had compiled by then"
    about_cuda_graphs = "the error is about memory of a CUDA graph, which the next call overwrites: keep `.clone()`"
    assert report["notes"][1].startswith(about_cuda_graphs) is (OVERWRITTEN in end)
    assert report["notes"][1].startswith("what helps: take the type checker off") is (WRONG_TYPE in end)


def test_signal_to_graphdoctor_is_the_programs(tmp_path: Path, root: Path) -> None:
    program(tmp_path, BREAKS + "print('waiting', flush=True)\nsignal.pause()\n")
    command = [sys.executable, "-m", "graphdoctor", "run", "train.py"]
    env = {**os.environ, "PYTHONPATH": str(root)}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert "waiting\n" in iter(process.stdout.readline, "")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert "train.py was killed (SIGTERM)" in errors and "GD101" in errors


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["absent.py"], "absent.py: no such file; give the script that you would give to python, or -m MODULE"),
        (["folder"], "folder is a folder without a __main__.py; give the script in it that starts the program"),
        (["broken.py"], "broken.py:1 is no Python program: '(' was never closed"),
        (
            ["book.ipynb"],
            "book.ipynb is a notebook: use `graphdoctor scan book.ipynb`, or the magics of `%load_ext graphdoctor` in its "
            "kernel",
        ),
        (["--select", "GDX", "train.py"], "'GDX' matches no rule; `graphdoctor rules` lists them"),
        (["sub/train.py"], "{0}/sub/pyproject.toml: select: 'GDX' matches no rule; `graphdoctor rules` lists them"),
        (["-m", "absent.module"], "-m absent.module: no module named absent here or where Python looks for modules"),
        (
            ["--save-sample", "first.txt", "train.py"],
            "--save-sample first.txt: give a name that ends in .py, as graphdoctor scan reads it",
        ),
    ],
)
def test_wrong_usage_is_one_line(graphdoctor: Command, tmp_path: Path, arguments: list[str], line: str) -> None:
    (tmp_path / "folder").mkdir()
    program(tmp_path, "f(\n", "broken.py")
    program(tmp_path, '{"cells": []}', "book.ipynb")
    (tmp_path / "sub").mkdir()
    for name in ("train.py", "sub/train.py"):
        program(tmp_path, "print('ran')\n", name)
    program(tmp_path, '[tool.graphdoctor]\nselect = ["GDX"]\n', "sub/pyproject.toml")
    done = graphdoctor("run", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"graphdoctor: {line.format(tmp_path)}\n")
    assert done.stdout == ""


def test_options_behind_a_program_that_refused_them_are_named(graphdoctor: Command, tmp_path: Path) -> None:
    program(tmp_path, "import argparse\nimport torch\nargparse.ArgumentParser().parse_args()\n")
    done = graphdoctor("run", "train.py", "--compile=auto", "--verify", "--lr", "1", cwd=tmp_path)
    line = "--compile and --verify went to train.py; what is for graphdoctor stands before it"
    assert done.returncode == 2 and f"graphdoctor: {line}: graphdoctor run --verify train.py\n" in done.stderr


def test_wrong_use_of_torch_compile_is_named_where_nothing_was_compiled(graphdoctor: Command, tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return x * 2\n\n"
        "    def encode(self, x):\n        return self.forward(x)\n\n\nnet = torch.compile(Net(), backend='eager')\nnet.encode(torch.ones(2))\n"
    )
    program(tmp_path, text)
    for options in ([], ["--compile", "auto"]):
        done = graphdoctor("run", *options, "train.py", cwd=tmp_path)
        said, why = done.stderr.splitlines()
        assert (done.returncode, said.startswith("graphdoctor: nothing was compiled: train.py ended")) == (1, True)
        assert ("calls torch.compile, but nothing that this returned" in said) is bool(options)
        assert why.startswith("graphdoctor: train.py:14: GD606 `net.encode(torch.ones(2))` runs the uncompiled model")
    # Where a module is missing, that is why.
    program(tmp_path, f"import torch, gd_no_a\n{text}")
    done = graphdoctor("run", "train.py", cwd=tmp_path)
    assert "missing: 'gd_no_a'" in done.stderr and "GD606" not in done.stderr


def test_methods_that_call_layers_are_named_where_nothing_was_compiled(graphdoctor: Command, tmp_path: Path) -> None:
    """The agent of reinforcement learning: it is compiled, and called by its methods alone, past what was compiled."""
    program(
        tmp_path,
        "import torch\nfrom torch import nn\n\n\nclass Agent(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.actor = nn.Linear(2, 2)\n\n"
        "    def act(self, x):\n        return self.actor(x)\n\n\n"
        "agent = torch.compile(Agent(), backend='eager')\nagent.act(torch.ones(2))\n",
    )
    done = graphdoctor("run", "train.py", cwd=tmp_path)
    said, why = done.stderr.splitlines()
    assert said == "graphdoctor: nothing was compiled: train.py ended with exit code 0 and compiled nothing"
    assert why.startswith("graphdoctor: train.py:15: GD606 `agent.act(torch.ones(2))` runs the uncompiled model")


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("import sys; sys.exit(2)", 2, "nothing to report: train.py ended with exit code 2 before it imported torch"),
        ("", 1, "nothing to report: train.py ended with exit code 0 and never imported torch"),
        (
            "import torch",
            1,
            "nothing was compiled: train.py ended with exit code 0 and compiled nothing; --compile auto compiles its "
            "outermost modules, with nothing changed in the program",
        ),
        (
            "import torch\ntorch.export.export(torch.nn.ReLU(), (torch.ones(2),))",
            1,
            "nothing was compiled: train.py ended with exit code 0 and compiled nothing; it exports, which is not "
            "recorded; `graphdoctor scan FILE --export`, with a sample, says where that fails",
        ),
    ],
)
def test_program_that_compiles_nothing_is_one_line(
    graphdoctor: Command, tmp_path: Path, text: str, code: int, line: str
) -> None:
    program(tmp_path, text)
    done = graphdoctor("run", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (code, f"graphdoctor: {line}\n")


def test_all_modules_that_a_program_lacks_are_named(graphdoctor: Command, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    program(tmp_path, "import gd_no_b, timm\n", "parts/gd_helper.py")
    program(tmp_path, "import sys\nsys.path.append('parts')\nimport gd_no_a.sub\nimport gd_helper\n")
    for arguments in (["train.py"], ["-m", "train"]):
        done = graphdoctor("run", *arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            "graphdoctor: missing: 'gd_no_a', 'gd_no_b', 'timm'; `pip install timm` where graphdoctor is installed, and "
            "install what provides `gd_no_a` and `gd_no_b`"
        )


def test_a_file_of_a_package_is_to_be_run_as_a_module(graphdoctor: Command, tmp_path: Path) -> None:
    for name in ("net/__init__.py", "net/tools/__init__.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    program(tmp_path, "from .. import layers\n", "net/tools/train.py")
    for folder, place in ((tmp_path, ""), (tmp_path / "net", f" in {tmp_path}")):
        done = graphdoctor("run", str(tmp_path / "net/tools/train.py"), cwd=folder)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            f"graphdoctor: train.py imports from its own package: run it as `graphdoctor run -m net.tools.train`{place}"
        )


def test_program_has_its_own_streams_and_ends_after_its_steps(graphdoctor: Command, tmp_path: Path) -> None:
    program(tmp_path, BREAKS.replace("range(4)", "range(100)"))
    done = graphdoctor("run", "--steps", "3", "--exit-zero", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "in forward\n" * 3)
    assert done.stderr.startswith("Not ready: 2 graph breaks in your code\n")
    assert "note: train.py was ended after the steps that --steps asked for\n" in done.stderr
