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


CUT = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

net = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4)))


def train(x, y, size):
    n = {count}
    for batch, _ in DataLoader(TensorDataset(x[:n], y[:n]), {options}):
        net(batch)
"""


@pytest.mark.parametrize(
    ("count", "options", "rules"),
    [
        ("len(x) // size * size", "size", []),
        ("size * (x.shape[0] // size)", "batch_size=size, shuffle=True", []),
        ("len(x) - len(x) % 32", "batch_size=32", []),
        ("len(x) - len(x) % 16", "batch_size=32", ["GD705"]),
        ("len(x) // size * 2", "size", ["GD705"]),
    ],
)
def test_data_that_are_cut_to_whole_batches_leave_no_rest(tmp_path, count, options, rules):
    file = tmp_path / "train.py"
    file.write_text(CUT.format(count=count, options=options))
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


ROWS = """

class Rows(torch.utils.data.Dataset):
    def __init__(self, length):
        self.count = length

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.zeros(8)
"""
EXACT = LIGHTNING + ROWS + "\n\ntrain({data}, 4)\n"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("TensorDataset(torch.randn(48, 8), torch.zeros(48))", []),
        ("TensorDataset(torch.randn((48, 8)))", []),
        ("torch.zeros(48, 8)", []),
        ("Rows(48)", []),
        ("Rows(50)", ["GD705"]),
        ("Rows(open())", ["GD705"]),
        ("TensorDataset(torch.randn(50, 8))", ["GD705"]),
        ("TensorDataset(torch.load('rows'))", ["GD705"]),
    ],
)
def test_a_trainer_gets_no_rest_where_the_number_of_rows_is_a_multiple(
    tmp_path: Path, data: str, found: list[str]
) -> None:
    file = tmp_path / "train.py"
    parts = {"options": "batch_size=12", "model": "Lit(torch.compile(nn.Linear(8, 8)))", "loader": "loader"}
    file.write_text(EXACT.format(data=data, **parts))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found


LOOP = """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

net = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4)))


def main(size, steps):
    losses = []
    for index, (x, y) in enumerate(DataLoader({data}, batch_size={size})):
        {asked}
        losses.append(net(x))
"""


@pytest.mark.parametrize(
    ("data", "size", "asked", "found"),
    [
        ("TensorDataset(torch.randn(10, 4), torch.randn(10))", "4", "pass", ["GD705"]),
        ("TensorDataset(torch.randn(10, 4), torch.randn(10))", "4", "if x.shape[0] != 4: continue", []),
        ("TensorDataset(torch.randn(10, 4), torch.randn(10))", "4", "if len(x) < 4: break", []),
        ("TensorDataset(torch.randn(10, 4), torch.randn(10))", "4", "if x.size(0) < 4: x = F.pad(x, (0, 0, 0, 2))", []),
        ("TensorDataset(torch.randn(10, 4), torch.randn(10))", "4", "if len(losses) < 2: pass", ["GD705"]),
        ("TensorDataset(torch.randn(size * steps, 4), torch.randn(size * steps))", "size", "pass", []),
        ("TensorDataset(torch.randn(size * steps, 4), torch.randn(size * steps))", "4", "pass", ["GD705"]),
        ("torch.load('rows')", "size", "pass", ["GD705"]),
        ("TensorDataset(torch.tensor(steps), torch.tensor(steps))", "size", "pass", ["GD705"]),
    ],
)
def test_a_loop_may_have_no_rest_or_see_to_it(
    tmp_path: Path, data: str, size: str, asked: str, found: list[str]
) -> None:
    file = tmp_path / "train.py"
    file.write_text(LOOP.format(data=data, size=size, asked=asked))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found


MADE = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

net = torch.compile(torch.nn.Sequential(torch.nn.Embedding(9, 4)))


def made(size, steps):
    ids = {made}
    return ids[:, :-1], ids[:, 1:]


def main(size, steps):
    x, y = made(size, steps)
    for ids, _ in DataLoader(TensorDataset(x, y), batch_size=size):
        net(ids)
"""


@pytest.mark.parametrize(
    ("made", "rules"),
    [
        ("torch.randint(0, 9, (size * steps, 5))", []),
        ("torch.zeros((size * steps, 5), dtype=torch.long)", []),
        ("torch.load(size)", ["GD705"]),
    ],
)
def test_tensors_made_of_sizes_are_made_for_batches(tmp_path, made, rules):
    file = tmp_path / "train.py"
    file.write_text(MADE.format(made=made))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == rules
