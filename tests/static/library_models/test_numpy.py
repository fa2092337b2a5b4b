"""What functions of numpy give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Convert, Truth

torch = pytest.importorskip("torch")
CompileCounter = pytest.importorskip("torch._dynamo.testing").CompileCounter


@pytest.mark.parametrize(
    ("draw", "asked"),
    [
        ("np.random.rand()", 0),
        ("np.random.uniform(0, 1)", 0),
        ("np.random.randint(0, 2)", 0),
        ("np.random.rand(1)", 1),
        ("np.random.uniform(0, 1, 1)", 1),
        ("np.random.randint(0, 2, size=1)", 1),
        ("np.random.choice([1, 2])", 1),
    ],
)
def test_a_number_that_is_drawn_is_one_of_python_and_an_array_tensor_data(events, draw: str, asked: int) -> None:
    found = events(f"""
        import numpy as np
        import torch

        @torch.compile
        def f(x):
            drawn = {draw}
            if drawn > 0.5:
                return x
            return x + 1
    """)
    assert sum(isinstance(e, Truth) and e.value.__class__.__name__ == "Tensor" for e in found) == asked


@pytest.mark.parametrize(
    ("size", "sizes", "found"),
    [
        ("np.prod(np.array(shape))", "-1, self.size", []),
        ("np.max(np.array(shape))", "-1, self.size", []),
        ("np.prod(shape)", "-1, self.size", []),
        ("np.array(shape)", "-1, *self.size", ["GD213"]),
    ],
)
def test_a_number_that_a_constructor_takes_out_of_an_array_is_one(
    tmp_path: Path, size: str, sizes: str, found: list[str]
) -> None:
    file = tmp_path / "net.py"
    text = (
        "import numpy as np\nimport torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
        "    def __init__(self, shape=(2, 3)):\n        super().__init__()\n"
        f"        self.size = {size}\n\n    def forward(self, x):\n        return x.reshape({sizes})\n"
    )
    file.write_text(text)
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found
    namespace: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), namespace)
    counter = CompileCounter()
    torch.compile(namespace["Net"](), backend=counter)(torch.ones(2, 6))
    assert (counter.frame_count != 1 or counter.op_count != 1) is bool(found)


@pytest.mark.parametrize(
    ("size", "count"),
    [
        ("np.array(x.shape)[1]", 1),
        ("2 * np.log(float(x.max()))", 0),
        ("np.ceil(x.shape[0] / 2)", 0),
    ],
)
def test_sizes_of_arrays_that_are_read(events, size, count):
    found = events(
        f"import numpy as np\nimport torch\n@torch.compile\ndef f(x):\n    return x * len(np.arange({size}))\n"
    )
    assert sum(isinstance(e, Convert) and e.to == "size" for e in found) == count


ARRAYS = [
    "np.arange(3)", "np.linspace(0, 2, 3).round().astype(np.int64)[::-1].copy()", "np.zeros(3, dtype=int)",
    "np.append(np.arange(2), 1)", "np.cumsum([1, 1])", "np.concatenate([np.arange(2), np.arange(2)])",
    "np.sort(np.arange(3))", "np.unique(np.arange(3))", "np.clip(np.arange(3), 0, 2)", "np.arange(4).reshape(2, 2)[0]",
]  # fmt: skip
ROWS = [
    "np.zeros((2, 2), dtype=int)",
    "np.append(np.zeros((1, 2), dtype=int), [[1, 0]], 0)",
    "np.stack([np.arange(2)])",
    "np.unique(np.arange(3), return_counts=True)",
    "np.hstack([np.zeros((1, 2), dtype=int)])",
]


@pytest.mark.parametrize("array", [*ARRAYS, *ROWS])
def test_an_element_of_an_array_is_an_index_that_is_computed_where_it_is_a_number(tmp_path: Path, array: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import numpy as np\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        self.order = {array}\n\n    def forward(self, x):\n"
        "        return x[self.order[0]]\n"
    )
    assert ({f.rule for f in analyse([(file, "net.py")]).findings} == {"GD215"}) is (array in ARRAYS)
    namespace: dict[str, Any] = {}
    exec(file.read_text(), namespace)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(namespace["Net"](), backend="eager")(torch.rand(4, 4))
    assert bool(torch._dynamo.utils.counters["graph_break"]) is (array in ARRAYS)


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("np.issubdtype(np.float32, np.integer)", []),
        ("np.shape(KEPT)[0] == 2", []),
        ("np.broadcast_shapes((1, 2), (2, 1))[0] == 2", []),
        ("np.ndim(x.numpy()) == 2", ["GD405"]),
        ("np.size(KEPT) == 2", ["GD405"]),
        ("np.can_cast(np.float32, np.float64)", ["GD405"]),
        ("np.iscomplexobj(KEPT)", ["GD405"]),
    ],
)
def test_what_a_function_of_numpy_gives_besides_arrays(
    test: str, found: list[str], tmp_path: Path, splits: Callable[..., bool]
) -> None:
    source = f"import numpy as np\n\nKEPT = np.ones(1)\n\n\ndef f(x):\n    return x + 1 if {test} else x\n"
    assert splits(source, "f", torch.rand(2, 3)) is bool(found)
    file = tmp_path / "model.py"
    file.write_text(source.replace("import", "import torch\nimport", 1) + "\n\ng = torch.compile(f)\n")
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == found


def test_a_buffer_is_no_array(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "import numpy as np\nimport torch\nfrom torch import nn\n\n\n"
        "def as_tensor(data):\n    return data if torch.is_tensor(data) else torch.tensor(data)\n\n\n"
        "class Net(nn.Module):\n    def __init__(self, data):\n        super().__init__()\n"
        "        self.register_buffer('table', as_tensor(np.array(data)))\n\n"
        "    def forward(self, x):\n        return x + torch.zeros(1, dtype=self.table.dtype)\n"
    )
    assert analyse([(file, "model.py")]).findings == ()


@pytest.mark.parametrize(
    ("value", "breaks"),
    [
        ("float(KEPT)", False),
        ("float(KEPT * 2)", True),
        ("int(2 // WHOLE)", True),
        ("float(np.sqrt(2.0) * 2)", False),
        ("math.sqrt(KEPT)", False),
        ("math.log(WHOLE)", False),
        ("math.floor(KEPT)", True),
        ("math.sqrt(KEPT + 1)", True),
    ],
)
def test_numbers_that_numpy_computed_before_have_a_value_until_the_graph_computes_with_them(
    value: str, breaks: bool, tmp_path: Path, splits: Callable[..., bool]
) -> None:
    source = f"""\
import math

import numpy as np

KEPT, WHOLE = np.sqrt(2), np.int64(2)


def f(x):
    return x * {value}
"""
    assert splits(source, "f", torch.rand(3)) is breaks
    file = tmp_path / "model.py"
    file.write_text(source.replace("import numpy", "import torch\nimport numpy", 1) + "\n\ng = torch.compile(f)\n")
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == ["GD213"] * breaks


@pytest.mark.parametrize(
    ("code", "breaks"),
    [
        ("x.topk(np.minimum(2, x.shape[0]))[0]", False),
        ("torch.arange(np.ceil(x.shape[0] / 3)) + x.sum()", False),
        ("x[: np.maximum(1, x.shape[0]) - 1]", False),
        ("x.view(np.prod(x.shape))", True),
        ("sum(x * step for step in range(np.minimum(2, x.shape[0])))", True),
        ("x * int(np.minimum(2, x.shape[0]))", True),
        ("x * int(np.maximum(x.shape[0] * 0.5, 3))", False),
    ],
)
def test_torch_reads_the_numbers_that_numpy_computes_of_numbers_alone(
    code: str, breaks: bool, tmp_path: Path, splits: Callable[..., bool]
) -> None:
    source = f"import numpy as np\nimport torch\n\n\ndef f(x):\n    return {code}\n"
    assert splits(source, "f", torch.rand(3, 2)) is breaks
    file = tmp_path / "model.py"
    file.write_text(source + "\n\ng = torch.compile(f)\n")
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == ["GD213"] * breaks
