"""Which device a run has."""

import pytest
import torch

from graphdoctor.dynamic.user_code.devices import device
from graphdoctor.dynamic.user_code.target import NoTarget


@pytest.mark.parametrize(
    ("wanted", "gpus", "found"),
    [
        ("cpu", 2, "cpu"),
        ("auto", 0, "cpu"),
        ("auto", 2, "cuda"),
        ("cuda", 1, "cuda"),
        ("cuda:1", 2, "cuda:1"),
        ("cuda", 0, "the device cuda was asked for, and torch finds none"),
        ("cuda:1", 0, "the device cuda:1 was asked for, and torch finds none"),
        ("cuda:1", 1, "the device cuda:1 was asked for, and torch finds one GPU, cuda:0"),
        ("cuda:7", 2, "the device cuda:7 was asked for, and torch finds 2 GPUs, cuda:0 to cuda:1"),
    ],
)
def test_the_device_is_the_named_one_or_a_line_says_what_there_is(
    wanted: str, gpus: int, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[torch.device] = []
    # The machine of the tests has no GPU.
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    try:
        assert str(device(wanted)) == found
    except NoTarget as error:
        assert str(error) == found
    assert [str(made) for made in chosen] == (["cuda:1"] if found == "cuda:1" else [])
