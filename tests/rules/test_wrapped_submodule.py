"""Children of models that are replaced by compiled wrappers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from {package} import {base}


class Text({base}):
    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return x


class Net({base}):
    def __init__(self, config):
        super().__init__(config)
        self.text = Text(config)
        self.text = torch.compile(self.text)

    def forward(self, x):
        return self.text(x)


def load(net, state):
    net.load_state_dict({{key{change}: value for key, value in state.items()}})
"""


@pytest.mark.parametrize(
    ("package", "base", "change", "found"),
    [
        ("transformers", "PreTrainedModel", "", ["GD617"]),
        ("torch.nn", "Module", "", ["GD617"]),
        ("torch.nn", "Module", ".replace('_orig_mod.', '')", []),
        ("flax.nnx", "Module", "", []),
    ],
)
def test_a_wrapper_in_a_module_whose_keys_nobody_changes(
    tmp_path: Path, package: str, base: str, change: str, found: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(package=package, base=base, change=change))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found


PART = """\
import torch


def train(model, path, resume, plain):
    {before}
    model.{part} = torch.compile(model.{part}, backend="eager")
    if resume:
        print(model)
    {behind}
"""

SAVED = "torch.save(model.state_dict(), path)"


@pytest.mark.parametrize(
    ("before", "part", "behind", "found"),
    [
        ("", "text_encoder", SAVED, ["GD617"]),
        ("", "net.blocks", SAVED, ["GD617"]),
        # A method, as far as it is known; a model of which nobody asks the state behind that; the state of another one.
        ("", "encode", SAVED, []),
        ("", "config.model", SAVED, []),
        (SAVED, "text_encoder", "", []),
        ("other = model.ema", "text_encoder", "torch.save(other.state_dict(), path)", []),
        (
            "from transformers import AutoModel; model = AutoModel.from_pretrained(path)",
            "encoder.layer",
            "model.save_pretrained(path)",
            ["GD617"],
        ),
        # It saves each of its models, which unwrap themselves.
        ("from diffusers import DiffusionPipeline; model = DiffusionPipeline.from_pretrained(path)", "unet",
         "model.save_pretrained(path)", []),
    ],
)  # fmt: skip
def test_a_part_of_a_model_whose_state_is_asked_for(
    tmp_path: Path, before: str, part: str, behind: str, found: list[str]
) -> None:
    file = tmp_path / "train.py"
    file.write_text(PART.format(before=before, part=part, behind=behind))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found


def test_a_saved_model_of_transformers_does_not_load(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    model = transformers.BertModel(transformers.BertConfig(vocab_size=16, **sizes))
    model.encoder = torch.compile(model.encoder, backend="eager")
    model.save_pretrained(tmp_path)
    _, loading = transformers.BertModel.from_pretrained(tmp_path, output_loading_info=True)
    assert any("_orig_mod" in key for key in loading["unexpected_keys"])
    assert any(key.startswith("encoder.") for key in loading["missing_keys"])


LOSS = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Distance(nn.Module):
    def __init__(self, net, power=2, ignored=-100):
        super().__init__()
        self.half = power / 2
        self.ignored = ignored
        {held}

    def forward(self, a, b):
        return (a - b).abs().pow(self.half).sum()


class Net(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.distance = Distance(net)

    def prepare(self):
        self.distance = torch.compile(self.distance, backend="eager")
        return self


net = Net(nn.Linear(4, 4)).prepare()
"""


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ("self.power = power", []),
        ("self.power = -2", []),
        ("self.net = net", ["GD617"]),
        ("self.scale = nn.Parameter(torch.ones(1))", ["GD617"]),
        ("self.register_buffer('scale', torch.ones(1))", ["GD617"]),
    ],
)
def test_a_module_without_a_state_puts_no_keys_into_one(tmp_path: Path, held: str, found: list[str]) -> None:
    file = tmp_path / "net.py"
    file.write_text(LOSS.format(held=held))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert any("_orig_mod" in key for key in names["net"].state_dict()) == bool(found)


GIVEN = """\
import torch
from {package} import {base}


class Task({base}):
    def __init__(self, given, compile=True):
        super().__init__()
        self.{name} = given

    def setup(self, stage=None):
        self.{name} = torch.compile(self.{name}, backend="eager")

    def forward(self, x):
        return self.{name}(x)
"""


@pytest.mark.parametrize(
    ("package", "base", "name", "found"),
    [
        ("lightning", "LightningModule", "net", ["GD617"]),
        ("torch.nn", "Module", "encoder", ["GD617"]),
        # It may be a function; the object may be no module.
        ("torch.nn", "Module", "criterion", []),
        ("tasks", "Task", "net", []),
    ],
)
def test_a_module_that_the_constructor_is_given(
    tmp_path: Path, package: str, base: str, name: str, found: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(GIVEN.format(package=package, base=base, name=name))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found
    if found:
        pytest.importorskip(package)
        names: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        task = names["Task"](torch.nn.Linear(4, 4))
        task.setup()
        assert f"{name}._orig_mod.weight" in task.state_dict()
