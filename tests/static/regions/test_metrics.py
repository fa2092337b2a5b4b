"""Metrics of torchmetrics, which a model calls: their base runs ``update`` and ``compute``."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Truth
from graphdoctor.static.domain.values import Tensor

METRIC = """
import torch
from torchmetrics import Metric

__all__ = ["Error"]

class Error({base}):
    def __init__(self):
        super().__init__()
        self.add_state("total", default=torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("count", default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, scores, labels):
        error = (scores - labels).abs().sum()
        if error.isnan():
            return
        self.total += error
        self.count += labels.numel()

    def compute(self):
        return self.total / self.count if self.count > 0 else self.total
"""


@pytest.mark.parametrize(
    ("base", "decided"),
    [
        pytest.param("Metric", ["Error.compute", "Error.update"], id="metric"),
        pytest.param("object", [], id="no-metric"),
    ],
)
def test_what_a_public_metric_runs_is_a_region(events, base, decided):
    found = [e for e in events(METRIC.format(base=base)) if isinstance(e, Truth) and isinstance(e.value, Tensor)]
    assert sorted({e.site.function for e in found}) == decided


def test_a_metric_that_nobody_exports_is_none(events):
    assert events(METRIC.format(base="Metric").replace("__all__", "names")) == []


def test_states_are_what_they_are_made_of(events):
    source = METRIC.format(base="Metric").replace("default=torch.tensor(0)", "default=[]")
    found = [e for e in events(source) if isinstance(e, Truth) and isinstance(e.value, Tensor)]
    assert {e.site.function for e in found} == {"Error.update"}
