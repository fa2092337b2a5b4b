"""Time and memory of a step."""

import time

import pytest
import torch

from graphdoctor.bench.measure import peak, timing

CPU = torch.device("cpu")


def test_the_median_is_per_call_and_between_the_quartiles() -> None:
    found = timing(lambda: time.sleep(0.004), 0.03, calls=2)
    assert 0.002 <= found.low <= found.median <= found.high
    assert found.samples >= 8


@pytest.mark.parametrize("count", [1, 3])
def test_the_peak_counts_what_lives_at_the_same_time(count: int) -> None:
    kept = torch.ones(1024, 256)

    def step() -> None:
        held = [kept + number for number in range(count)]
        del held
        # Released before: no part of the peak.
        torch.ones(16)

    assert peak(step, CPU) == pytest.approx(count * 2**20, rel=0.01)
