"""Which numbers a loop changes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


@torch.compile
def orthogonalise(grad, steps=5):
    for _ in range(steps):
        grad = grad @ grad.T @ grad
    return grad


class Muon(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            {statement}
            for weight in group["params"]:
                weight.data.add_(orthogonalise(weight.grad, steps=steps), alpha=-group["lr"])


optimizer = Muon(torch.nn.Linear(4, 4).parameters(), {{}})
for step in range(10):
    for group in optimizer.param_groups:
        group["{key}"] = 2 + step
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("statement", "key", "found"),
    [
        ('steps: int = group["steps"]', "lr", []),
        ('steps: int = group["steps"]', "steps", ["GD704"]),
        ('steps: int = group["lr"]', "lr", ["GD704"]),
    ],
)
def test_a_setting_of_a_group_that_nothing_writes_stays(
    tmp_path: Path, statement: str, key: str, found: list[str]
) -> None:
    file = tmp_path / "muon.py"
    file.write_text(SOURCE.format(statement=statement, key=key))
    assert [f.rule for f in analyse([(file, "muon.py")]).findings] == found


UNREAD = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, scale=1, step=None):
        return self.layer(x) * scale


net = torch.compile(Net())
for step in range(6):
    net(torch.rand(2, 4), {passed})
"""


@pytest.mark.parametrize(
    ("passed", "found"),
    [("step=step", []), ("1, step", []), ("scale=step", ["GD704"]), ("step", ["GD704"])],
)
def test_an_argument_that_nothing_reads_has_no_guard(tmp_path: Path, passed: str, found: list[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(UNREAD.format(passed=passed))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found


@pytest.mark.parametrize(
    ("use", "suggestion"),
    [("x * i", "pass it as a 0-d tensor"), ("x if i == 0 else x + 1", "pass the result of the test")],
)
def test_a_number_that_decides_is_no_tensor(tmp_path: Path, use: str, suggestion: str) -> None:
    file = tmp_path / "run.py"
    file.write_text(
        f"import torch\n\n\n@torch.compile\ndef f(i, x):\n    return {use}\n\n\n"
        "for i in range(9):\n    f(i, torch.rand(4))\n"
    )
    (finding,) = analyse([(file, "run.py")]).findings
    assert (finding.rule, finding.suggestion[: len(suggestion)]) == ("GD704", suggestion)


WRITTEN = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = {first}

    def forward(self, x):
        return x * self.scale


net = torch.compile(Net(), backend="eager")
for step in range(6):
    net.scale = {value}
    net(torch.ones(4))
"""


@pytest.mark.parametrize("first", ["0", "1.0"])
@pytest.mark.parametrize(
    "value",
    ["step", "step + 1", "step / 10", "0.1 * step", "float(step)", "int(step * 1.5)", "step // 2", "max(0, step)"],
)
def test_floats_of_an_attribute_become_dynamic_and_ints_do_not(tmp_path: Path, first: str, value: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(WRITTEN.format(first=first, value=value))
    reported = [f.rule for f in analyse([(file, "net.py")]).findings]
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    exec(compile(file.read_text(), str(file), "exec"), {})
    compilations = torch._dynamo.utils.counters["frames"]["total"]
    assert reported == (["GD704"] if compilations > 2 else [])


USED = """\
import math
import torch


@torch.compile(backend="eager")
def f(cache, i):
    {use}


for i in range(2, 8):
    f(torch.zeros(16, 16), {passed})
"""


@pytest.mark.parametrize(
    ("use", "effect", "suggestion", "instead", "compilations"),
    [
        ("return cache[:, i] * 2", "one of several indices", "write a slice", "torch.tensor([i])", 1),
        ("return cache[:, i : i + 1] * 2", "second value", "pass it as a 0-d tensor", "torch.tensor(i)", 1),
        ("return cache[i] * 2", "second value", "leave it a number", "i", 2),
        ("return cache * math.log(i)", "second value", "pass it as a 0-d tensor, and compute with `torch`", "", 0),
        ("return cache * min(i, 3)", "second value", "pass it as a 0-d tensor", "torch.tensor(i)", 1),
        ("return cache.topk(i).values", "second value", "pass it as a 0-d tensor if", "i", 2),
        ("for _ in range(i):\n        cache = cache + 1\n    return cache", "unrolled", "compile the body", "i", 6),
    ],
)
def test_what_is_advised_is_what_compiles_the_least(
    tmp_path: Path, use: str, effect: str, suggestion: str, instead: str, compilations: int
) -> None:
    file = tmp_path / "run.py"
    file.write_text(USED.format(use=use, passed="i"))
    (finding,) = [f for f in analyse([(file, "run.py")]).findings if f.rule == "GD704"]
    assert effect in finding.message
    assert finding.suggestion is not None and finding.suggestion.startswith(suggestion)
    if "math" in use:
        use, instead, compilations = use.replace("math", "torch"), "torch.tensor(i)", 1
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    exec(compile(USED.format(use=use, passed=instead), str(file), "exec"), {})
    assert torch._dynamo.utils.counters["frames"]["total"] == compilations
    assert not torch._dynamo.utils.counters["graph_break"]


ENUM = """\
import enum
import torch


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2
    LAST = 3


@torch.compile(backend="eager")
def f(x, mode):
    return x.sum() if mode == 1 or mode is Mode.SUM else x.mean()


for i in range(4):
    f(torch.rand(3), {passed})
"""


@pytest.mark.parametrize(
    ("passed", "found"),
    [("Mode.SUM if i == 0 else Mode.MEAN if i == 1 else Mode.LAST", 0), ("i * Mode.MEAN.value", 1)],
)
def test_a_member_of_an_enum_is_no_number(tmp_path: Path, passed: str, found: int) -> None:
    file = tmp_path / "modes.py"
    file.write_text(ENUM.format(passed=passed))
    assert len([f for f in analyse([(file, "modes.py")]).findings if f.rule == "GD704"]) == found
