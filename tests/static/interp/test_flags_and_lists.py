"""Conditions on flags that have a default, on the mode, and on tensors beside lists."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Truth


@pytest.mark.parametrize(
    ("test", "confidence"),
    [
        ("not final and x.max() < 1", "likely"),
        ("not (not quick) and x.max() < 1", "likely"),
        ("final or x.max() < 1", "likely"),
        ("final and x.max() < 1", "possible"),
        ("not quick and x.max() < 1", "possible"),
        ("quick or x.max() < 1", "possible"),
    ],
)
def test_a_flag_whose_default_lets_the_next_operand_run_is_no_setting(tmp_path, test, confidence):
    file = tmp_path / "solvers.py"
    file.write_text(
        "import torch\n\n__all__ = ['solve']\n\n\ndef solve(x: torch.Tensor, final=False, quick=True):\n"
        f"    if {test}:\n        return x\n    return x + 1\n"
    )
    assert [f.confidence for f in analyse([(file, "solvers.py")]).findings] == [confidence]


@pytest.mark.parametrize(
    ("test", "confidence"),
    [
        ("mode == 'mean' and x.max() < 1", "likely"),
        ("self.mode == 'mean' and x.max() < 1", "likely"),
        ("mode != 'mean' or x.max() < 1", "likely"),
        ("mode == 'sum' and x.max() < 1", "possible"),
        ("self.mode != 'mean' and x.max() < 1", "possible"),
        ("self.plain or x.max() < 1", "likely"),
        ("not self.plain and x.max() < 1", "likely"),
        ("self.plain and x.max() < 1", "possible"),
    ],
)
def test_a_mode_or_flag_that_is_the_default_is_no_setting(tmp_path, test, confidence):
    file = tmp_path / "loss.py"
    file.write_text(
        "import torch\n\n\nclass Loss(torch.nn.Module):\n    def __init__(self, mode='mean', plain=False):\n"
        "        super().__init__()\n        self.mode = mode\n        self.plain = plain\n\n"
        f"    def forward(self, x: torch.Tensor, mode='mean'):\n        if {test}:\n            return x\n"
        "        return x + 1\n"
    )
    assert [f.confidence for f in analyse([(file, "loss.py")]).findings] == [confidence]


@pytest.mark.parametrize(("other", "breaks"), [("[]", False), ("()", False), ("[1.0, 2.0]", False), ("1.0", True)])
def test_a_tensor_is_no_list(tmp_path, other, breaks):
    file = tmp_path / "net.py"
    file.write_text(
        "import torch.nn as nn\n\n\nclass Net(nn.Module):\n    def forward(self, x, extra):\n"
        f"        if extra != {other}:\n            return x + extra[0]\n        return x\n"
    )
    assert bool(analyse([(file, "net.py")]).findings) is breaks


RATIO = """
import torch


def f(gain, expected, wide: bool = False):
    {statement}
    return gain * 2 if ratio < 0.25 else gain


class Step(torch.nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.wide = wide

    def forward(self, gain: torch.Tensor, expected: torch.Tensor):
        return f(gain, expected, self.wide)
"""


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("ratio = gain / expected if expected > 0 else 1.0", True),
        ("ratio = 0\n    if expected > 0:\n        ratio = gain / expected", True),
        ("ratio = gain / expected if wide else 1.0", False),
    ],
)
def test_a_number_that_data_chose_in_place_of_a_tensor_is_compared_as_the_tensor(
    tmp_path: Path, statement: str, found: bool
) -> None:
    source = RATIO.format(statement=statement)
    file = tmp_path / "model.py"
    file.write_text(source)
    line = source[: source.index("return gain")].count("\n") + 1
    errors = [f.location.line for f in analyse([(file, "model.py")]).findings if f.severity == "error"]
    assert (line in errors) is found


PARTS = """
class Part(nn.Module):
    def forward(self, x):
        if self.training:
            return self.learn(x)
        return self.infer(x)

    def learn(self, x):
        return x if x.sum() > 0 else -x

    def infer(self, x):
        return (x, x) if x.sum() > 1 else (x, -x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
"""


@pytest.mark.parametrize(
    ("body", "reached"),
    [
        ("if self.training:\n    return self.part(x)\nreturn x", ["Part.learn"]),
        ("if not self.training:\n    return self.part(x)\nreturn x", ["Part.infer"]),
        ("if self.training:\n    return x\nelse:\n    return self.part(x)", ["Part.infer"]),
        ("if self.training:\n    return x\nx = x + 1\nreturn self.part(x)", ["Part.infer"]),
        ("if not self.training:\n    return x\nreturn self.part(x)", ["Part.learn"]),
        (
            "for _ in range(2):\n    if self.training:\n        continue\n    x = x + 1\nreturn self.part(x)",
            ["Part.infer", "Part.learn"],
        ),
        ("return self.part(x)", ["Part.infer", "Part.learn"]),
        ("if x.ndim > 1:\n    x = x + 1\nreturn self.part(x)", ["Part.infer", "Part.learn"]),
    ],
)
def test_a_part_is_in_the_mode_that_a_test_around_its_call_asked_for(events, body, reached):
    found = events(f"import torch.nn as nn\n\n{PARTS}{indent(body, ' ' * 8)}\n")
    assert sorted({e.site.function for e in found if isinstance(e, Truth)} & {"Part.learn", "Part.infer"}) == reached
