"""Outputs that differ, held against a wider dtype; and what a run writes to."""

import pytest
import torch
from torch import nn

from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.numerics.reference import cleared, in_wider_dtype
from graphdoctor.dynamic.user_code.target import Sample, Target


def test_as_far_from_float64_as_eager_is_no_fault() -> None:
    exact = {"output": torch.tensor([1.0, 2.0], dtype=torch.float64)}
    eager = {"output": torch.tensor([1.001, 2.0], dtype=torch.float16)}
    compiled = {"output": torch.tensor([0.998, 2.0], dtype=torch.float16)}
    assert comparison.compare(eager, compiled).where is not None
    assert "within the error that eager itself has" in cleared(eager, compiled, exact)
    assert not cleared(eager, {"output": torch.tensor([1.1, 2.0], dtype=torch.float16)}, exact)


def test_nothing_is_cleared_where_eager_is_exact_or_a_value_is_no_float() -> None:
    exact = {"output": torch.tensor([1.0], dtype=torch.float64)}
    assert not cleared({"output": torch.tensor([1.0])}, {"output": torch.tensor([1.1])}, exact)
    assert not cleared({"output": torch.tensor([1])}, {"output": torch.tensor([2])}, {"output": torch.tensor([1])})
    assert not cleared({"output": torch.tensor([1.0])}, {}, exact)


@pytest.mark.parametrize(
    ("dtype", "wider"),
    [(torch.float32, torch.float64), (torch.bfloat16, torch.float32), (torch.float16, torch.float32)],
)
def test_the_reference_is_a_copy_in_a_wider_dtype(dtype: torch.dtype, wider: torch.dtype) -> None:
    model = nn.Linear(4, 4).to(dtype)
    target = Target("f", lambda: Sample(model, (torch.ones(2, 4, dtype=dtype),)), torch.device("cpu"))

    def run(sample: Sample) -> comparison.Snapshot:
        return comparison.snapshot(sample, sample.function(*sample.args))

    exact = in_wider_dtype(target, "eval", run)
    assert exact is not None
    assert exact["output"].dtype is wider


def test_inputs_and_buffers_that_a_run_writes_to() -> None:
    before = {"input[0]": torch.zeros(2), "input[1]": torch.zeros(2), "buffer n": torch.zeros(1), "output": None}
    after = {"input[0]": torch.ones(2), "input[1]": torch.zeros(2), "buffer n": torch.ones(1), "output": torch.ones(1)}
    assert comparison.mutated(before, after) == ("input[0]", "buffer n")
