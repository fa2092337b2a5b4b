"""What is advised where a draw is used as a number, and where it decides a branch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.api import ScanOptions, scan

NET = """\
import numpy as np
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        {line}
        return x * 2
"""


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("x = x * np.random.uniform(0, 1)", "draw with torch (`torch.rand`"),
        ("x = x + 1 if np.random.uniform(0, 1) < 0.5 else x", "draw with torch, and select with `torch.where`"),
    ],
)
def test_a_draw_that_decides_is_not_advised_to_stay_a_branch(tmp_path: Path, line: str, advice: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(line=line))
    (finding,) = scan(ScanOptions((str(file),), run=False)).findings
    assert finding.rule == "GD403"
    assert finding.suggestion.startswith(advice)


PARAMETER = """\
import random


def f(x, count=2):
    {before}
    count = random.randint(1, 3)
    {behind}


def graphdoctor_target():
    import torch

    return f, (torch.rand(4, 8),)
"""


@pytest.mark.parametrize(
    ("before", "behind", "lines"),
    [
        ("x = x[:count] * (count + 1)", "return x * count", []),
        ("x = x if count == 0 else x + 1", "return x * count", []),
        ("x = x + 1", "return x * (count + 1)", [7]),
    ],
)
def test_only_what_stands_behind_the_draw_reads_its_number(
    tmp_path: Path, before: str, behind: str, lines: list[int]
) -> None:
    file = tmp_path / "model.py"
    file.write_text(PARAMETER.format(before=before, behind=behind))
    found = scan(ScanOptions((str(file),), run=False)).findings
    assert [(f.rule, f.location.line) for f in found] == [("GD403", line) for line in lines]


@pytest.mark.parametrize(
    ("values", "found"), [("np.array(list(range(8)))", []), ("list(range(8))", ["GD403"])], ids=["array", "list"]
)
def test_an_array_is_shuffled_in_the_graph(tmp_path: Path, values: str, found: list[str]) -> None:
    torch = pytest.importorskip("torch")
    source = "import numpy as np\nimport torch\n\n\n@torch.compile(backend='eager', fullgraph=True)\ndef f(x):\n"
    source += f"    order = {values}\n    np.random.shuffle(order)\n    return x + torch.as_tensor(order[0])\n"
    file = tmp_path / "shuffled.py"
    file.write_text(source)
    assert [finding.rule for finding in scan(ScanOptions((str(file),), run=False)).findings] == found
    names: dict[str, Any] = {}
    exec(compile(source, str(file), "exec"), names)
    if found:
        with pytest.raises(torch._dynamo.exc.TorchDynamoException):
            names["f"](torch.zeros(1))
    else:
        assert 0 <= names["f"](torch.zeros(1)).item() < 8


SOMETIMES = """\
import random

import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, count=None):
        {statement}
        return {read}
"""


@pytest.mark.parametrize(
    ("statement", "read", "splits_graph"),
    [
        ("count = random.randint(1, 3) if count is None else count", "x[:, :count]", True),
        ("count = count or random.randint(1, 3)", "x[:, :count]", True),
        ("count = random.randint(1, 3) if self.training else 2", "x.repeat(1, count)", True),
        ("count = random.randint(1, 3) if self.training else 2", "x[:, : 4 - count]", True),
        ("count = random.randint(1, 3) if self.training else 2", "x * count", False),
        ("count = random.randint(1, 3) if self.training else x.mean()", "x * count", False),
    ],
)
def test_a_number_that_is_drawn_on_some_paths_only(
    tmp_path: Path, statement: str, read: str, splits_graph: bool
) -> None:
    torch = pytest.importorskip("torch")
    source = SOMETIMES.format(statement=statement, read=read)
    file = tmp_path / "sometimes.py"
    file.write_text(source)
    found = [(f.rule, f.location.line) for f in scan(ScanOptions((str(file),), run=False)).findings]
    assert found == ([("GD403", 10)] if splits_graph else [])
    names: dict[str, Any] = {}
    exec(compile(source, str(file), "exec"), names)
    assert _is_whole(torch, names["Net"]()) is not splits_graph


def _is_whole(torch: Any, model: Any) -> bool:
    """Whether Dynamo makes one graph of ``model``. Branches on data are not among the breaks that torch counts."""
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters
    counters.clear()
    torch.compile(model, backend="eager")(torch.rand(4, 8))
    return counters["frames"]["ok"] == 1 and not counters["graph_break"]


DECIDED = """\
import random


def draw():
    return random.uniform(0, 1) < 0.5


class Kept:
    pass


def f(x, count=0):
    kept = Kept()
    {before}
    if {test}:
        x = x + 1
    {behind}
    return x * 2


def graphdoctor_target():
    import torch

    return f, (torch.rand(4, 8),)
"""


@pytest.mark.parametrize(
    ("before", "test", "behind", "lines"),
    [
        ("coin = random.uniform(0, 1) < 0.5", "coin", "pass", [15]),
        ("coin = random.randint(0, 3)\n    heads = coin == 1", "not heads", "pass", [16]),
        ("kept.coin = random.uniform(0, 1) < 0.5", "kept.coin", "pass", [15]),
        ("table = {'coin': random.randint(0, 1)}", "table['coin']", "pass", [15]),
        ("coin = draw()", "coin and x.ndim > 1", "pass", [15]),
        ("coins = [draw(), draw()]", "all(coins)", "pass", [15]),
        ("if x.ndim == 2:\n        count = random.randint(0, 3)", "count > 1", "pass", [16]),
        (
            "if x.ndim == 2:\n        print('tossing')\n        count = random.randint(0, 3)",
            "count > 1",
            "pass",
            [15, 17],
        ),
        ("coin = 0.1 < random.uniform(0, 1) < 0.5", "coin", "pass", [14]),
        # A number that was drawn before the graph ended is a plain one.
        ("coin, other = draw(), draw()", "coin", "x = x if other else x + 1", [15]),
        ("coin = draw()\n    print('tossed')", "coin", "pass", [15]),
        ("coin = random.randint(0, 3)", "isinstance(coin, int)", "x = x * coin", []),
        ("coin = random.randint(0, 3)", "coin is not None", "x = x * coin", []),
    ],
)
def test_a_draw_decides_wherever_it_was_kept(
    tmp_path: Path, before: str, test: str, behind: str, lines: list[int]
) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "model.py"
    file.write_text(DECIDED.format(before=before, test=test, behind=behind))
    found = scan(ScanOptions((str(file),), run=False)).findings
    assert [f.location.line for f in found] == lines
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert _is_whole(torch, names["f"]) is not bool(lines)
