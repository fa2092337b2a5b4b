"""Scripts that show a planted miscompilation; ``python -m benchmarks.audit`` does the same with all ten."""

from __future__ import annotations

import pytest

from benchmarks.audit.__main__ import audited, installed
from benchmarks.audit.planted import PLANTED
from graphdoctor.dynamic.layers import left_behind

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_the_script_holds_the_one_operator_that_is_wrong() -> None:
    with installed():
        found = audited("planted_sign", PLANTED["planted_sign"])
    assert (found.operator, found.backends[-1].deviations[0].oracle) == ("tanh", "outputs")
    assert found.repro is not None and found.issue is not None
    graph = found.repro.partition("class Graph")[2]
    assert "tanh" in graph and "linear" not in graph and "sin" not in graph
    assert found.repro in found.issue
    assert "```\noutputs: output 0: Tensor-likes are not close!\n```" in found.issue
    assert "* torch: " in found.issue


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_left_behind_tells_a_planted_backend_from_eager(name: str) -> None:
    planted = PLANTED[name]
    import torch

    made = planted.model(), (torch.full((4, 4), 0.5),), {}
    found = left_behind.differences(made, planted.backend, planted.mode == "train")
    assert any(text.startswith(f"{planted.oracle}: ") for text in found)
    assert left_behind.differences(made, "eager", planted.mode == "train") == []
