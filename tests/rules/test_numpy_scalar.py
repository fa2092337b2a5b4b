"""What to do about numpy values that become Python objects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.lint.engine import analyse

SOURCE = """\
import numpy as np
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x * {value}
"""


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ("len(x.numpy().tolist())", "keep the values a tensor"),
        ("len(x.numpy().tobytes())", "keep the values a tensor"),
        ("np.prod(x.shape).item()", "compute a size with Python's `math`"),
    ],
)
def test_a_list_of_values_is_no_size(tmp_path: Path, value: str, advice: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(value=value))
    (found,) = [each for each in analyse([(file, "net.py")]).findings if each.rule == "GD213"]
    assert found.suggestion.startswith(advice)


COMPUTED = """\
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        scale = np.prod([2, 2])
        self.width = 32 // scale
        self.sizes = [[self.width, 8 * scale]]

    def forward(self, x):
        return {value}


def graphdoctor_target():
    return Net(), (torch.ones(8, 64),)
"""


@pytest.mark.parametrize(
    ("value", "breaks"),
    [
        ("x.reshape(-1, self.width)", False),
        ("nn.functional.pad(x, (0, self.sizes[0][0]))", False),
        ("x[:, : self.width] + torch.zeros(self.width)", False),
        ("x.reshape(-1, 2, self.width, self.sizes[0][1])", False),
        ("x * int(self.width)", False),
        ("nn.functional.interpolate(x[None], size=tuple(self.sizes[0][:1]), mode='linear')", False),
        ("nn.functional.interpolate(x[None], None, self.sizes[0][0])", True),
        ("x.reshape(-1, self.width * 1)", True),
    ],
)
def test_a_scalar_that_the_constructor_computes_is_a_size(tmp_path: Path, value: str, breaks: bool) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(COMPUTED.format(value=value))
    found = [f for f in analyse([(file, "net.py")]).findings if f.rule == "GD213"]
    assert sum(f.severity == "error" for f in found) == breaks
    later = [f for f in found if f.severity == "warning"]
    assert all(f.message.endswith("once the break before it is gone") for f in later)
    names: dict[str, Any] = {}
    exec(file.read_text(), names)
    net, args = names["graphdoctor_target"]()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(net, backend="eager")(*args)
    assert bool(torch._dynamo.utils.counters["graph_break"]) is breaks


RESHAPED = """\
import math

import numpy as np
import torch


def halves(x, rows, columns):
    x = x.reshape(rows, 4)
    return x.reshape(columns, 8)


def f(x, sizes: list):
    rows = np.prod(sizes)
    columns = np.prod(sizes) // 2
    {}


def graphdoctor_target():
    return f, (torch.rand(4, 4), [2, 2])
"""


@pytest.mark.parametrize(
    ("body", "breaks"),
    [
        ("return x.reshape(rows, 4)", 1),
        ("x = x.reshape(rows, 4)\n    return x.reshape(columns, 8)", 1),
        ("return halves(x, rows, columns)", 1),
        ("x = x.reshape(rows, 4)\n    return x[:columns]", 1),
        ("x = x.reshape(rows, 4)\n    return x.reshape(columns * 1, 8)", 2),
        ("size = math.ceil(4 / rows) * rows\n    return x.reshape(size, 4)", 2),
        ("size = rows * 1\n    x = x.reshape(rows, 4)\n    return x.reshape(size, 4)", 1),
    ],
)
def test_a_size_from_before_a_break_is_a_number_while_that_is_there(tmp_path: Path, body: str, breaks: int) -> None:
    torch = pytest.importorskip("torch")
    counters = pytest.importorskip("torch._dynamo.utils").counters
    file = tmp_path / "net.py"
    file.write_text(RESHAPED.format(body))
    found = [f for f in analyse([(file, "net.py")]).findings if f.rule == "GD213"]
    assert sum(f.severity == "error" for f in found) == breaks
    later = [f for f in found if f.severity == "warning"]
    assert all(f.message.endswith("once the break before it is gone") for f in later)
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    torch.compiler.reset()
    counters.clear()
    function, inputs = names["graphdoctor_target"]()
    torch.compile(function, backend="eager")(*inputs)
    assert sum(counters["graph_break"].values()) == breaks


TWO_CALLERS = """\
import numpy as np
import torch


def halves(x, columns):
    return x.reshape(columns, 8)


def f(x, sizes: list):
    columns = np.prod(sizes) // 2
    y = x.reshape(np.prod(sizes), 4)
    {}


def graphdoctor_target():
    return f, (torch.rand(4, 4), [2, 2])
"""


@pytest.mark.parametrize(
    "body",
    [
        "return halves(y, columns) + halves(x, np.prod(sizes) // 2)",
        "return halves(x, np.prod(sizes) // 2) + halves(y, columns)",
    ],
)
def test_a_size_that_breaks_on_one_of_two_paths_is_an_error(tmp_path: Path, body: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(TWO_CALLERS.format(body))
    found = [f for f in analyse([(file, "net.py")]).findings if f.rule == "GD213" and f.location.line == 6]
    assert [f.severity for f in found] == ["error"]


BEHIND = """\
import numpy as np
import torch
from torch import nn


def box(size):
    center = np.random.randint(size)
    return np.clip(center - 1, 0, size), np.clip(center + 1, 0, size)


class Net(nn.Module):
    def forward(self, x):
        {statements}
        return x
"""


@pytest.mark.parametrize(
    ("statements", "lines"),
    [
        # The break inside the function ends the graph, and what it gives is an input of the next one.
        ("a, b = box(6)\n        x[:, a:b] = x[:, a:b] * 2", [7]),
        ("a, b = box(6)\n        x = x[a + 1 : b]", [7, 14]),
        ("a = np.clip(x.size(0) - 1, 0, 3)\n        print(1)\n        x = x[a:]", [14]),
        ("n = np.random.randint(6)\n        a = np.clip(n - 1, 0, 3)\n        x = x[a:, :a]", [13, 15]),
        ("a = np.clip(x.numpy().argmax(), 0, 2)\n        x = x[a:, a:].sum() + x[a:]", [14]),
    ],
)
def test_numbers_from_before_a_break_are_bounds(tmp_path: Path, statements: str, lines: list[int]) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(BEHIND.format(statements=statements))
    found = analyse([(file, "net.py")]).findings
    assert sorted({f.location.line for f in found if f.severity == "error"}) == lines
    assert len([f for f in found if f.severity == "warning"]) <= 1
    namespace: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    torch._dynamo.reset()
    with record() as recording:
        torch.compile(namespace["Net"](), backend="eager")(torch.rand(6, 6))
    assert sorted({event.traced[-1].line for event in recording.events}) == lines


MATH = """\
import math

import numpy as np


def f(x):
    size = np.sqrt(x.shape[1])
    return x * {value}


def graphdoctor_target():
    return f, (__import__("torch").ones(4, 12),)
"""


@pytest.mark.parametrize(
    ("value", "breaks"),
    [
        ("math.floor(np.log2(x.shape[1]))", True),
        ("math.ceil(np.sqrt(x.shape[1]))", True),
        ("math.ceil(size)", True),
        ("math.isfinite(np.log2(x.shape[1]))", True),
        ("math.sqrt(np.log2(x.shape[1]))", False),
        ("math.log1p(size)", False),
        ("math.erf(size)", False),
        ("math.fmod(size, 2)", False),
        ("math.modf(size)[0]", False),
        ("int(np.ceil(np.log2(x.shape[1])))", False),
    ],
)
def test_functions_of_math_that_give_no_real_number_split_the_graph(
    tmp_path: Path, splits: Callable[..., bool], value: str, breaks: bool
) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(MATH.format(value=value))
    found = [f for f in analyse([(file, "net.py")]).findings if f.rule == "GD213"]
    assert bool(found) is breaks
    assert splits(file.read_text(), "f", torch.ones(4, 12)) is breaks
