"""What a forward is assumed to be called with."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Truth

NET = """
import torch


class Net(torch.nn.Module):
    def forward(self, batch):
        {statement}
        return batch
"""


def asked(found) -> int:
    return sum(isinstance(e, Truth) for e in found)


@pytest.mark.parametrize(
    "statement",
    [
        "a = 1 if 'extra' in batch else 2",
        "a = batch['mask'] if batch else 2",
        "a = batch[0]['flip'] or 2",
        "a = [each['shape'] == batch[0]['shape'] or 1 for each in batch]",
    ],
)
def test_a_batch_with_texts_as_keys_is_no_tensor(events, statement) -> None:
    assert asked(events(NET.format(statement=statement))) == 0


@pytest.mark.parametrize("statement", ["a = 1 if batch['mask'] > 0 else 2", "a = 1 if batch[0] > 0 else 2"])
def test_what_it_holds_is_assumed_to_be_tensors(events, statement) -> None:
    assert asked(events(NET.format(statement=statement))) == 1
