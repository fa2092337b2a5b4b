"""Which of the guards that failed is the cause of a recompile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from graphdoctor.trace.diagnose import diagnose

if TYPE_CHECKING:
    from conftest import Traces

NET = "/job/net.py"


@pytest.mark.parametrize(
    ("kind", "guard"),
    [
        ("rank", "tensor 'p' rank mismatch. expected 2, actual 1"),
        ("value", "dim == -2  # v = g.mean(dim=dim)  # net.py:5 in f"),
    ],
)
def test_a_rank_and_a_dimension_go_back_and_forth_too(traces: Traces, kind: str, guard: str) -> None:
    """The compiled step of an optimizer, for matrices and vectors of several sizes."""
    size = "tensor 'g' size mismatch at index 0. expected 64, actual 4"
    again = [
        traces.artifact("recompile_reasons", json.dumps(reasons), 0, n) + traces.start(0, n, NET, 3)
        for n, reasons in enumerate(([guard], [guard, size], [guard, size, guard]), start=1)
    ]
    traces.write(0, traces.start(0, 0, NET, 3), *again)
    (found,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert {(each.kind, each.caused) for each in found} == {(kind, 1), ("size", 2)}


def test_a_size_that_is_dynamic_and_decided_by_is_a_cause_of_its_own(traces: Traces) -> None:
    """A scan that pads to a power of two: the second size makes it dynamic, and the third is one of the other branch."""
    changed = "tensor 'x' size mismatch at index 1. expected 32, actual 48"
    decided = "x.size()[1] != 2**math.ceil(math.log2(x.size()[1]))  # if L == npo2(L):  # net.py:9 in f (a/b.py:1 in c)"
    again = [
        traces.artifact("recompile_reasons", f"0/{n - 1}: {reason}", 0, n) + traces.start(0, n, NET, 3)
        for n, reason in enumerate((changed, decided), start=1)
    ]
    traces.write(0, traces.start(0, 0, NET, 3), *again)
    (found,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert [(each.line, each.caused) for each in found] == [(3, 1), (9, 1)]
    assert found[0].remedy is not None and found[0].remedy.endswith("dynamic from its second size on")
    assert found[1].remedy is not None and found[1].remedy.startswith("the size is dynamic already")
