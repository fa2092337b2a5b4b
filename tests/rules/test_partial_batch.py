"""Whether the last batch of a loader may be smaller, as far as the length of the data is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch.utils.data import DataLoader, Dataset

net = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4)))


class Numbers(Dataset):
    def __init__(self, count, scale):
        self.count = count
        self.scale = scale

    def __len__(self):
        return {length}

    def __getitem__(self, index):
        return torch.full((4,), float(index))


def main():
    for x in DataLoader(Numbers(32, 2), batch_size={size}):
        net(x)
"""


@pytest.mark.parametrize(
    ("length", "size", "rules"),
    [
        ("self.count", 8, []),
        ("self.count", 5, ["GD705"]),
        ("30", 5, []),
        ("self.count * self.scale", 8, ["GD705"]),
        ("self.other", 8, ["GD705"]),
    ],
)
def test_a_length_that_the_object_was_made_with_is_known(tmp_path, length, size, rules):
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(length=length, size=size))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == rules


LIGHTNING = """\
import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, batch, index):
        return self.net(batch[0]).sum()


def train(data, size):
    loader = DataLoader(data, {options})
    L.Trainer(max_epochs=3).fit({model}, {loader})
"""


@pytest.mark.parametrize(
    ("options", "model", "loader", "found"),
    [
        ("batch_size=12", "Lit(torch.compile(nn.Linear(8, 8)))", "loader", ["GD705"]),
        ("size", "torch.compile(Lit(nn.Linear(8, 8)))", "train_dataloaders=loader", ["GD705"]),
        ("batch_size=12, drop_last=True", "Lit(torch.compile(nn.Linear(8, 8)))", "loader", []),
        ("batch_size=1", "Lit(torch.compile(nn.Linear(8, 8)))", "loader", []),
        ("batch_sampler=size", "Lit(torch.compile(nn.Linear(8, 8)))", "loader", []),
        ("batch_size=12", "Lit(torch.compile(nn.Linear(8, 8), dynamic=True))", "loader", []),
        ("batch_size=12", "Lit(nn.Linear(8, 8))", "loader", []),
    ],
)
def test_the_loop_of_a_trainer_gets_the_rest_of_the_data_too(
    tmp_path: Path, options: str, model: str, loader: str, found: list[str]
) -> None:
    file = tmp_path / "train.py"
    file.write_text(LIGHTNING.format(options=options, model=model, loader=loader))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found
