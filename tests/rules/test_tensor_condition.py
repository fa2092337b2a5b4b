"""Conditions on tensors after others that may end the expression."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse
from graphdoctor.target_torch.specifiers import allows

NET = """\
import torch
import torch.nn as nn


def chosen(x, kind="all"):
    if {test}:
        return x
    return x + 1


class Net(nn.Module):
    def forward(self, x: torch.Tensor, flag: bool):
        if flag:
            x = chosen(x.exp())
        return x
"""


@pytest.mark.parametrize(
    ("test", "confidence"),
    [
        ("x.sum() == 0", "likely"),
        ('kind == "all" and x.sum() == 0', "likely"),
        ("x.dtype == torch.float16 and x.sum() == 0", "possible"),
    ],
)
def test_only_an_undecided_operand_makes_the_next_one_optional(tmp_path: Path, test: str, confidence: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(test=test))
    assert [finding.confidence for finding in analyse([(file, "net.py")]).findings] == [confidence]


@pytest.mark.parametrize("test", ["not self.training and x.max() > 1", "self.training and x.max() > 1"])
def test_what_one_mode_asks_is_more_than_possible(tmp_path: Path, test: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.replace("if flag:", f"if {test}:").format(test="kind is None"))
    assert [finding.confidence for finding in analyse([(file, "net.py")]).findings] == ["likely"]


@pytest.mark.parametrize(
    ("body", "suggestion"),
    [
        ("losses.append(x.mean())", "the length of a list depends on the data: append in each case"),
        ("x = x * 2", "compute both branches and select with `torch.where`"),
        ("losses.append(x)\n    else:\n        losses.append(-x)", "compute both branches and select with"),
    ],
)
def test_a_list_that_data_make_longer_is_no_choice_of_tensors(tmp_path: Path, body: str, suggestion: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n    losses = [x.sum()]\n"
        f"    if x.max() > 0:\n        {body}\n    return sum(losses) + x\n"
    )
    (finding,) = analyse([(file, "net.py")]).findings
    assert finding.suggestion.startswith(suggestion)


@pytest.mark.parametrize(
    ("loop", "suggestion"),
    [
        (
            "for i, flag in enumerate(self.flags)",
            "to Dynamo the contents of `self.flags` are data: if no call changes them",
        ),
        ("for flag in self.flags", "to Dynamo the contents of `self.flags` are data: if no call changes them"),
        ("for flag in x.sum(1) > 0", "compute both branches and select"),
    ],
)
def test_what_the_constructor_makes_may_be_a_list(tmp_path: Path, loop: str, suggestion: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.flags = torch.ones(3, dtype=torch.bool)\n\n    def forward(self, x):\n        columns = []\n"
        f"        {loop}:\n            if flag:\n                columns.append(x * 2)\n            else:\n"
        "                columns.append(x)\n        return torch.cat(columns)\n"
    )
    (finding,) = analyse([(file, "net.py")]).findings
    assert (finding.rule, finding.suggestion[: len(suggestion)]) == ("GD201", suggestion)


@pytest.mark.parametrize(
    ("lines", "suggestion"),
    [
        ("if not mask.any():\n    mask = None", "drop the test and keep `mask`: a mask that is false everywhere"),
        ("if mask.sum() == 0:\n    mask = None", "drop the test and keep `mask`: a mask that is false everywhere"),
        ("if mask.any():\n    mask = None", "`torch.where` cannot give None: make `mask` a tensor in each case"),
        ("y = None\nif mask.any():\n    y = x", "`torch.where` cannot give None: make `y` a tensor in each case"),
        ("y: object = None\nif mask.any():\n    y = x", "`torch.where` cannot give None: make `y` a tensor"),
        ("y = None\ny = -x\nif mask.any():\n    y = x", "compute both branches and select with `torch.where`"),
        ("y = x\nif min(np.arange(3)) > 1:\n    y = -x", "numpy values are tensor data here"),
    ],
)
def test_no_choice_of_tensors_is_advised_where_one_side_is_none(tmp_path: Path, lines: str, suggestion: str) -> None:
    file = tmp_path / "net.py"
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    head = "import numpy as np\nimport torch\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n    mask = x.eq(1)\n"
    file.write_text(f"{head}{body}    return x if mask is None else x.masked_fill(mask, 0)\n")
    (finding,) = analyse([(file, "net.py")]).findings
    assert finding.suggestion.startswith(suggestion)


def test_what_torch_compares_are_tensors_whatever_gave_them(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("""\
import torch
import torch.nn as nn
from elsewhere import rotated


class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        if torch.allclose(rotated(x), rotated(x + 1)):
            return x
        return x + (1 if rotated(x).equal(2) else 2)
""")
    (found,) = analyse([(file, "net.py")]).findings
    assert (found.location.line, found.rule, found.confidence) == (8, "GD201", "likely")


POLICY = """\
import torch
import torch.nn as nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 4)

    def act(self, x, done: torch.Tensor = None):
        if done is not None and done.any():
            x = x * 0
        return self.head(x)


def main(environment):
    act = torch.compile(Policy().act)
    done = None
    for _ in range(9):
        {call}
        x, done = environment.step()
"""


@pytest.mark.parametrize(("call", "lines"), [("act(torch.rand(2, 4), done)", [11]), ("act(torch.rand(2, 4))", [])])
def test_an_optional_tensor_that_a_later_round_passes_is_asked(tmp_path, call, lines):
    file = tmp_path / "policy.py"
    file.write_text(POLICY.format(call=call))
    found = [f for f in analyse([(file, file.name)]).findings if f.confidence != "possible"]
    assert [(f.rule, f.location.line) for f in found] == [("GD201", line) for line in lines]


@pytest.mark.parametrize(
    ("statement", "suggestion"),
    [("break", "run a fixed number of steps"), ("continue", "drop the test where the rest of the iteration")],
)
def test_what_steers_a_loop_is_no_choice_of_tensors(tmp_path: Path, statement: str, suggestion: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor, steps: int):\n    for _ in range(steps):\n"
        f"        x = x.sin() * other(x)\n        if (x > 2).all():\n            {statement}\n        x = x + 1\n"
        "    return x\n"
    )
    (finding,) = analyse([(file, "net.py")]).findings
    assert finding.suggestion.startswith(suggestion)


SPREAD = """\
import torch
import torch.nn as nn


def render(x, **options):
    for name, value in options.items():
        if isinstance(value, torch.Tensor):
            options[name] = value * 2
    return x + 1 if options.get("random", False) else x + 2


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, x):
        return render(x, random=self.config.random, shift=x.mean())
"""


def test_an_option_that_may_be_a_tensor_is_not_taken_for_one(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SPREAD)
    assert [finding.rule for finding in analyse([(file, "net.py")]).findings] == []


@pytest.mark.parametrize(
    ("test", "before"),
    [
        ("self.w[0] == 0", True),
        ("torch.any(self.w == 0)", True),
        ("self.w[0] == x[0]", False),
        ("self.v[0] == 0", False),
    ],
)
def test_a_buffer_that_is_mended_is_set_before_compiling(tmp_path: Path, test: str, before: bool) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nimport torch.nn as nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.register_buffer('w', torch.zeros(4))\n"
        "        self.register_buffer('v', torch.zeros(4))\n\n    def forward(self, x: torch.Tensor):\n"
        f"        if {test}:\n            self.w = torch.arange(4.0)\n        return x * self.w\n"
    )
    (finding,) = [f for f in analyse([(file, "net.py")]).findings if f.rule == "GD201"]
    assert finding.suggestion.startswith("no input decides this: set it before the model is compiled") is before


EXTREME = """\
import torch


def f(x: torch.Tensor):
    named = {{"a": x, "bb": x + 1}}
    return {extreme}, x * 2
"""


@pytest.mark.parametrize(
    ("extreme", "older", "newer"),
    [
        ("max(x.unbind(0), key=len)", 1, 0),
        ("min([x[0], x[1]], key=lambda row: row.shape[0])", 1, 0),
        ("max(named, key=lambda name: named[name].shape[0])", 1, 0),
        ("max(x[0], x[1], key=len)", 1, 0),
        ("max(named, key=lambda name: named[name].sum())", 1, 1),
        ("max(x.unbind(0), key=lambda row: row.sum())", 1, 1),
        ('max(["a", "bb"], key=len)', 0, 0),
    ],
)
def test_a_key_that_is_no_tensor_is_traced_since_2_14(tmp_path: Path, extreme: str, older: int, newer: int) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(EXTREME.format(extreme=extreme) + "\n\ng = torch.compile(f)\n")
    expected = {"2.13": older, "2.14": newer}
    for version, count in expected.items():
        wanted = catalog.holding(catalog.rules(), version)
        assert len(list(analyse([(file, "net.py")], wanted).findings)) == count
    names: dict[str, Any] = {}
    exec(file.read_text(), names)
    breaks = torch._dynamo.explain(names["f"])(torch.rand(3, 4)).graph_break_count
    assert bool(breaks) == bool(expected["2.14" if allows(">=2.14", torch.__version__) else "2.13"])


def test_methods_of_lists_that_compare_are_named(splits: Callable[..., bool], tmp_path: Path) -> None:
    import torch

    source = """\
import torch


def f(x: torch.Tensor):
    rows = [x[0], x[1]]
    return x * rows.index(x.max()) + rows.count(x[0]) + (x[1] in rows)


compiled = torch.compile(f)
"""
    file = tmp_path / "rows.py"
    file.write_text(source)
    messages = [finding.message for finding in analyse([(file, file.name)]).findings]
    assert [message.split(" tensor data")[0] for message in messages] == [
        "`index()` compares",
        "`count()` compares",
        "`in` compares",
    ]
    assert splits(source, "f", torch.tensor([3.0, 1.0, 2.0]))


DROPPED = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, flag: bool = False):
        {made}
        if not skip:
            x = x + 1
        return x


net = Net().{mode}()


def f(x):
    return net(x)
"""


@pytest.mark.parametrize(
    "made",
    [
        "skip = False\n        if self.training:\n            skip = torch.rand([]) < 0.1",
        "skip = False\n        if self.training and x.dim() > 1:\n            skip = torch.rand([]) < 0.1",
        "skip = torch.rand([]) < 0.1 if self.training else False",
        "skip = self.training and torch.rand([]) < 0.1",
    ],
)
def test_a_flag_that_one_mode_makes_a_tensor_is_a_warning(tmp_path: Path, splits: Any, made: str) -> None:
    import torch

    x = torch.ones(2, 2)
    assert splits(DROPPED.format(made=made, mode="train"), "f", x)
    assert not splits(DROPPED.format(made=made, mode="eval"), "f", x)
    file = tmp_path / "model.py"
    file.write_text(DROPPED.format(made=made, mode="train"))
    (finding,) = analyse([(file, "model.py")]).findings
    assert (finding.rule, finding.severity, finding.confidence == "possible") == ("GD201", "warning", False)
    assert finding.fact.endswith("tensor data `skip`, a flag in the other mode")


def test_a_flag_that_an_argument_makes_a_tensor_is_only_possible(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    made = "skip = False\n        if flag:\n            skip = torch.rand([]) < 0.1"
    file.write_text(DROPPED.format(made=made, mode="train"))
    (finding,) = analyse([(file, "model.py")]).findings
    assert finding.confidence == "possible"
