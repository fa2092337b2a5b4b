"""Whether the last batch of a loader may be smaller, as far as the length of the data is known."""

from __future__ import annotations

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
