from enum import Enum, IntEnum
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from graphdoctor.dynamic.numerics import state
from graphdoctor.dynamic.numerics.comparison import Difference, compare, load, save, snapshot, verdict
from graphdoctor.dynamic.user_code.target import Sample


def test_equal_values_and_nan() -> None:
    found = {"output": torch.tensor([1.0, float("nan"), float("inf")]), "n": 3, "s": "x"}
    assert compare(found, dict(found)) == Difference(0.0)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (torch.zeros(2), torch.tensor([0.0, 0.5]), "differ by up to 0.5"),
        (torch.tensor([-400.0, 2.0]), torch.tensor([-400.0, 2.5]), "differ by up to 0.5, with values of up to 400"),
        (torch.zeros(2), torch.zeros(3), "shapes"),
        (torch.zeros(2), torch.zeros(2, dtype=torch.float64), "dtypes"),
        (torch.tensor([True, False]), torch.tensor([True, True]), "differ"),
        (torch.tensor([float("nan")]), torch.tensor([0.0]), "differ"),
        (torch.tensor([2**53 + 1]), torch.tensor([2**53]), "differ"),
        (torch.tensor(1.0), 1.0, "tensor"),
        (1, 2, "1 and 2"),
        (True, 1, "True and 1"),
        ("a", "b", "'a' and 'b'"),
        (None, torch.zeros(1), "None"),
    ],
)
def test_a_difference_is_named(a: object, b: object, words: str) -> None:
    where = compare({"output": a}, {"output": b}).where
    assert where is not None
    assert where.startswith("output: ")
    assert words in where


def test_tolerance_depends_on_the_dtype() -> None:
    half, exact = torch.ones(1, dtype=torch.bfloat16), torch.ones(1, dtype=torch.float64)
    assert compare({"o": half}, {"o": half * 1.01}).where is None
    assert compare({"o": exact}, {"o": exact * 1.001}).where is not None


def test_compiled_code_returns_a_scalar_of_numpy_as_an_array() -> None:
    """A ``numpy.float64`` is a float of Python; a ``numpy.float32`` has the name of an array anyway."""
    model = nn.Linear(1, 1)
    eager = snapshot(Sample(model, ()), {"mean": np.mean([0.5, 1.0]), "sum": np.float32(2)})
    compiled = snapshot(Sample(model, ()), {"mean": np.array(0.75), "sum": np.array(2, dtype=np.float32)})
    other = snapshot(Sample(model, ()), {"mean": np.array(0.5), "sum": np.array(2, dtype=np.float32)})
    assert compare(eager, compiled) == Difference(0.0)
    assert compare(eager, other).where == "output['mean']: 0.75 and 0.5"


def test_missing_and_new_leaves() -> None:
    assert compare({"a": 1}, {}).where == "a is missing"
    assert compare({}, {"a": 1}).where == "a is new"


def test_a_snapshot_holds_what_the_run_changed() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    x = torch.randn(3, 2, requires_grad=True)
    sample = Sample(model, (x,))
    out = model(x)
    out.square().sum().backward()
    found = snapshot(sample, {"y": out})
    for name in ("output['y']", "input[0]", "gradient of input[0]", "buffer 1.running_mean", "gradient of 0.weight"):
        assert name in found
    before = found["buffer 1.running_mean"].clone()
    model(x)
    assert torch.equal(found["buffer 1.running_mean"], before)


def test_a_snapshot_survives_the_way_through_a_file(tmp_path: Path) -> None:
    found = {"output": torch.arange(3), "output.n": 2.5, "output.s": None}
    assert load(tmp_path, "eval") is None
    save(found, tmp_path / "new", "eval")
    loaded = load(tmp_path / "new", "eval")
    assert loaded is not None
    assert compare(found, loaded) == Difference(0.0)


def test_one_bad_comparison_spoils_the_verdict() -> None:
    result = verdict({"eager differs": Difference(0.0), "compiled differs": Difference(0.5, "output: bad")})
    assert (result.equal, result.max_abs_diff, result.detail) == (False, 0.5, "compiled differs: output: bad")


def test_numbers_and_texts_of_other_classes_are_saved_as_those_of_python(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")

    class Kind(str, Enum):
        ONE = "one"

    class Level(IntEnum):
        LOW = 1

    module = nn.Linear(2, 2)
    before = state.of(Sample(module, module, (), {}), ())
    module.best, module.kind = numpy.float64(0.5), numpy.str_("a")
    sample = Sample(module, module, (), {})
    found = snapshot(sample, [numpy.float64(1.5), numpy.complex128(2), Kind.ONE, Level.LOW, numpy.bytes_(b"x"), True])
    found |= state.written(before, state.of(sample, ()), ()).leaves
    save(found, tmp_path, "eval")
    assert compare(load(tmp_path, "eval") or {}, found) == Difference(0.0)
    assert [found[f"output[{n}]"] for n in range(6)] == [1.5, 2, "one", 1, b"x", True]
