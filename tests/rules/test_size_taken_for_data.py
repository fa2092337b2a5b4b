"""A size that an old constructor takes for data under Dynamo, and the function that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint.engine import analyse
from graphdoctor.target_torch.specifiers import allows

torch = pytest.importorskip("torch")

SOURCE = """\
import torch
from torch import LongTensor


@torch.compile(backend="eager", fullgraph=True)
def f(x: torch.Tensor, other=None):
    return {made}
"""


@pytest.mark.parametrize(
    ("made", "fixed"),
    [
        ("torch.FloatTensor(x.size())", "torch.empty(x.size(), dtype=torch.float32)"),
        ("torch.BoolTensor(x.shape)", "torch.empty(x.shape, dtype=torch.bool)"),
        ("torch.LongTensor(x[None].shape[1:])", "torch.empty(x[None].shape[1:], dtype=torch.int64)"),
        ("torch.Tensor(torch.Size([2, 3]))", "torch.empty(torch.Size([2, 3]))"),
    ],
)
def test_compiled_code_makes_the_tensor_of_eager_code_after_the_fix(tmp_path: Path, made: str, fixed: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE.format(made=made))
    found = list(analyse([(file, "model.py")]).findings)
    assert [(f.rule, f.location.line) for f in found] == [("GD519", 7)]
    chosen, _ = select_fixes(found, unsafe=True)
    text = fixed_texts({"model.py": file.read_text()}, chosen)["model.py"]
    assert text == SOURCE.format(made=fixed)
    shapes = []
    for source in (file.read_text(), text):
        names: dict[str, Any] = {}
        exec(source, names)
        shapes.append(names["f"](torch.zeros(2, 3)).shape)
    mended = made.startswith("torch.Tensor(") and allows(">=2.15", torch.__version__)
    assert shapes == [(2, 3) if mended else (2,), (2, 3)]


@pytest.mark.parametrize("made", ["LongTensor(x.size())", "torch.LongTensor(*[x.size()])"])
def test_a_constructor_that_is_not_named_in_torch_keeps_its_call(tmp_path: Path, made: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE.format(made=made))
    (finding,) = analyse([(file, "model.py")]).findings
    assert finding.fix is not None
    assert finding.fix.reason == "The constructor is not called by its name in torch."


@pytest.mark.parametrize(
    "made", ["torch.Tensor(other.shape)", "torch.Tensor(x.size(), other)", "torch.LongTensor(list(x.size()))"]
)
def test_a_shape_of_what_may_be_an_array_is_a_tuple(tmp_path: Path, made: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE.format(made=made))
    assert not [f for f in analyse([(file, "model.py")]).findings if f.rule == "GD519"]


ARRAY = """\
import numpy as np
import torch


@torch.compile(backend="eager")
def f(x: torch.Tensor):
    array = {array}
    return x + {made}
"""


@pytest.mark.parametrize(
    ("array", "made", "fixed"),
    [
        ("np.arange(3)", "torch.FloatTensor(array)", "torch.as_tensor(array, dtype=torch.float32)"),
        ("np.array([1, 2, 3])", "torch.DoubleTensor(array)", "torch.as_tensor(array, dtype=torch.float64)"),
        ("np.array([0.5, 1.5, 2.5])", "torch.LongTensor(array)", "torch.as_tensor(array, dtype=torch.int64)"),
        ("np.array([1, 2, 3]) > 1", "torch.ByteTensor(array)", "torch.as_tensor(array, dtype=torch.uint8)"),
        (
            "np.meshgrid(np.arange(3), np.arange(3))",
            "torch.FloatTensor(array[0])",
            "torch.as_tensor(array[0], dtype=torch.float32)",
        ),
    ],
)
def test_an_array_of_another_dtype_is_converted_by_the_fix(tmp_path: Path, array: str, made: str, fixed: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(ARRAY.format(array=array, made=made))
    found = [f for f in analyse([(file, "model.py")]).findings if f.rule == "GD519"]
    assert [f.location.line for f in found] == [8]
    chosen, _ = select_fixes(found, unsafe=True)
    text = fixed_texts({"model.py": file.read_text()}, chosen)["model.py"]
    assert text == ARRAY.format(array=array, made=fixed)
    names: dict[str, Any] = {}
    exec(file.read_text(), names)
    eager = torch.compiler.disable(names["f"]._torchdynamo_orig_callable)(torch.zeros(3))
    with pytest.raises(RuntimeError):
        names["f"](torch.zeros(3))
    torch._dynamo.reset()
    exec(text, names)
    assert torch.equal(names["f"](torch.zeros(3)), eager)


@pytest.mark.parametrize(
    ("array", "made"),
    [
        ("np.arange(3)", "torch.LongTensor(array)"),
        ("np.arange(0.5, 3.0)", "torch.Tensor(array)"),
        ("np.arange(3).tolist()", "torch.FloatTensor(array)"),
        ("np.arange(3, dtype=np.float32)", "torch.FloatTensor(array)"),
        ("x.numpy()", "torch.FloatTensor(array)"),
        ("np.array([1, 2, 3]) > 1", "torch.BoolTensor(array)"),
    ],
)
def test_an_array_of_the_same_dtype_is_taken(tmp_path: Path, array: str, made: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(ARRAY.format(array=array, made=made))
    assert not [f for f in analyse([(file, "model.py")]).findings if f.rule == "GD519"]
    names: dict[str, Any] = {}
    exec(file.read_text(), names)
    assert names["f"](torch.zeros(3)).shape == (3,)
