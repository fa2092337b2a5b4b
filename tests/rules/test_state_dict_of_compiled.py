"""Checkpoints of compiled wrappers: which loads make them right, and how to save instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from graphdoctor.lint.engine import analyse
from graphdoctor.model.findings import Finding

SOURCE = """\
import copy
import torch

net = torch.compile(torch.nn.Linear(4, 4))
kept = copy.deepcopy(net.state_dict())
net(torch.rand(2, 4))
net.load_state_dict({state})
raw_net = net
torch.save(raw_net.state_dict(), "net.pt")
"""


def findings(tmp_path: Path, state: str) -> list[Finding]:
    file = tmp_path / "run.py"
    file.write_text(SOURCE.format(state=state))
    return list(analyse([(file, "run.py")]).findings)


@pytest.mark.parametrize(
    ("state", "found"), [("kept", ["GD618"]), ("net.state_dict()", ["GD618"]), ("torch.load('net.pt')", [])]
)
def test_a_state_that_was_only_kept_says_nothing_of_files(tmp_path: Path, state: str, found: list[str]) -> None:
    assert [f.rule for f in findings(tmp_path, state)] == found


def test_the_advice_names_the_object_whose_state_is_saved(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "kept")
    assert "save `raw_net._orig_mod.state_dict()`" in finding.suggestion


TWO_MODES = """\
import argparse

import torch


def save(model, path):
    torch.save({{"model": model.state_dict()}}, path)


def load(path, model):
    model.load_state_dict(torch.load(path)["model"])


def main(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--use", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--resume")
    args = parser.parse_args(words)
    if args.use:
        model = torch.nn.Linear(4, 4)
        {use}
        return model
    model = torch.nn.Linear(4, 4)
    if not args.plain:
        model = torch.compile(model, backend="eager")
    if args.resume:
        load({resumed}, model)
    save(model, {saved})
"""


@pytest.mark.parametrize(
    ("use", "resumed", "saved", "found"),
    [
        # The file that is saved is loaded into a plain model.
        ('load("net.pt", model)', "args.resume", '"net.pt"', ["GD618"]),
        # The file that a compiled model loads is loaded into a plain one.
        ("load(args.resume, model)", "args.resume", '"other.pt"', ["GD618"]),
        # Another file, as far as it is known, or in runs in which nothing is compiled.
        ('load("net.pt", model)', "args.resume", '"other.pt"', []),
        ("load(args.resume, model) if args.plain else None", "args.resume", '"other.pt"', []),
        # The file has the state of another object, too, such as an optimizer.
        ("load(args.resume, torch.optim.SGD(model.parameters()))", "args.resume", '"other.pt"', []),
    ],
)
def test_a_file_that_a_plain_model_loads_has_the_wrong_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str, resumed: str, saved: str, found: list[str]
) -> None:
    text = TWO_MODES.format(use=use, resumed=resumed, saved=saved)
    file = tmp_path / "train.py"
    file.write_text(text)
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found
    if saved == '"net.pt"':
        monkeypatch.chdir(tmp_path)
        namespace: dict[str, Any] = {}
        exec(compile(text, str(file), "exec"), namespace)
        namespace["main"]([])
        with pytest.raises(RuntimeError, match="_orig_mod"):
            namespace["main"](["--use"])


COPIED = """\
import torch

net = torch.compile(torch.nn.Linear(4, 4), backend="eager")
state = {{{key}: value.half() for key, value in net.state_dict().items()}}
net.load_state_dict(state)
torch.save(state, "net.pt")
"""


@pytest.mark.parametrize(("key", "found"), [("key", ["GD618"]), ("key[10:]", []), ("key.removeprefix(before)", [])])
def test_a_state_whose_values_are_changed_has_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, found: list[str]
) -> None:
    file = tmp_path / "copied.py"
    file.write_text(COPIED.format(key=key))
    assert [f.rule for f in analyse([(file, "copied.py")]).findings] == found
    if found:
        monkeypatch.chdir(tmp_path)
        exec(compile(file.read_text(), str(file), "exec"), {})
        with pytest.raises(RuntimeError, match="_orig_mod"):
            torch.nn.Linear(4, 4).load_state_dict(torch.load("net.pt"))


TRAIN = """\
import torch

from {net} import Net

model = torch.compile(Net(), backend="eager")
torch.save(model.state_dict(), "net.pt")
"""
NET = "import torch.nn as nn\n\n\nclass Net(nn.Linear):\n    def __init__(self):\n        super().__init__(4, 4)\n"
INFER = """\
import torch

from {net} import Net

state = {{key.replace("_orig_mod.", ""): value for key, value in torch.load("net.pt").items()}}
net = Net()
net.load_state_dict(state)
"""


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"infer.py": INFER.format(net="net")}, []),
        ({"infer.py": INFER.format(net="other"), "other.py": NET}, ["GD618"]),
        ({"net.py": f"{NET}\n\ndef clean(key):\n    return key.removeprefix('_orig_mod.')\n"}, []),
        ({"test_train.py": "import train\n\nassert '_orig_mod.weight' in train.model.state_dict()\n"}, []),
        ({"infer.py": "# _orig_mod\nfrom net import Net\n"}, ["GD618"]),
    ],
)
def test_another_file_of_the_program_may_take_the_prefix_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], found: list[str]
) -> None:
    for name, text in {"net.py": NET, "train.py": TRAIN.format(net="net"), **files}.items():
        (tmp_path / name).write_text(text)
    assert [f.rule for f in analyse([(tmp_path / "train.py", "train.py")]).findings] == found
    if files == {"infer.py": INFER.format(net="net")}:
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        for name in ("train.py", "infer.py"):
            exec(compile((tmp_path / name).read_text(), name, "exec"), {})


KEEPER = """\
import torch


class Checkpoints:
    def __call__(self, path, state):
        torch.save(state(), path)
"""

PROGRAM = """\
import torch

from keeper import Checkpoints
from loading import load

model = torch.compile(load("start.pt"))
checkpoints = Checkpoints()
checkpoints("net.pt", lambda: model.state_dict())
"""


@pytest.mark.parametrize(("key", "found"), [("key", ["GD618"]), ("key.removeprefix('_orig_mod.')", [])])
def test_a_helper_that_saves_belongs_to_the_program_that_calls_it(tmp_path: Path, key: str, found: list[str]) -> None:
    loads = "\n\ndef load(path):\n    state = torch.load(path)\n    net = torch.nn.Linear(4, 4)\n"
    loads += f"    net.load_state_dict({{{key}: value for key, value in state.items()}})\n    return net\n"
    texts = {"keeper.py": KEEPER, "loading.py": f"import torch\n{loads}", "train.py": PROGRAM}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    given = [(tmp_path / name, name) for name in texts]
    assert [f.rule for f in analyse(given).findings] == found
