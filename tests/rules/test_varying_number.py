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


HELD = """\
import torch
import torch.nn as nn


class Settings:
    def __init__(self):
        self.window = 1
        self.unread = 1


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 1

    def forward(self, x):
        return x * self.depth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = Settings()
        self.block = Block()
        self.epoch = 0
        self.rate = 0.5
        self.name = "net"

    def set_epoch(self, epoch):
        self.epoch = epoch

    def set_window(self, n, scale=1):
        self.settings.window = n

    def set_unread(self, n):
        self.settings.unread = n

    def set_rate(self, rate):
        self.rate = rate

    def anneal(self, epoch):
        self.epoch = max(1, 10 - epoch)

    def warm_up(self, epoch):
        self.rate = epoch / 10

    def extra_repr(self):
        return f"{self.settings.unread} {self.name}"

    def forward(self, x):
        return self.shift(self.block(x)) * self.rate

    def shift(self, x):
        return x[: 20 - self.settings.window] + self.epoch


net = Net()
fast = torch.compile(net, backend="eager")
for step in range(6):
    STATEMENT
    fast(torch.ones(32))
"""


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("net.set_epoch(step)", True),
        ("net.set_epoch(epoch=step * 2)", True),
        ("fast.set_epoch(step)", True),
        ("net.set_epoch(3)", False),
        ("net.set_window(step)", True),
        ("net.set_window(2, scale=step)", False),
        ("net.set_unread(step)", False),
        ("net.set_rate(step / 10)", False),
        ("net.set_rate(step)", True),
        ("net.anneal(step)", True),
        ("net.warm_up(step)", False),
        ("net.settings.window = step", True),
        ("net.settings.unread = step", False),
        ("net.block.depth = step", True),
        ("net.block.depth += 1", True),
        ("net.rate += 0.1", False),
        ("Net().set_epoch(step)", False),
    ],
)
def test_what_a_method_sets_and_what_the_module_holds(tmp_path: Path, statement: str, found: bool) -> None:
    file = tmp_path / "net.py"
    file.write_text(HELD.replace("STATEMENT", statement))
    findings = analyse([(file, "net.py")]).findings
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    exec(compile(file.read_text(), str(file), "exec"), {})
    compilations = torch._dynamo.utils.counters["frames"]["total"]
    assert [f.rule for f in findings] == (["GD704"] if found else [])
    assert (compilations > 2) == found
    assert all(file.read_text().splitlines()[f.location.line - 1].strip() == statement for f in findings)


TRAINER = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    epoch = 0

    def forward(self, x):
        return x * self.epoch


class Trainer:
    def __init__(self, net):
        self.net = KEPT
        self.fast = torch.compile(net)

    def fit(self):
        for epoch in range(6):
            self.net.epoch = epoch
            self.fast(torch.ones(4))


def train(net):
    fast = torch.compile(net)
    for epoch in range(6):
        net.epoch = epoch
        fast(torch.ones(4))


Trainer(Net()).fit()
train(Net())
"""


@pytest.mark.parametrize(("kept", "lines"), [("net", [19, 26]), ("Net()", [26])])
def test_the_module_under_the_name_it_had_before(tmp_path: Path, kept: str, lines: list[int]) -> None:
    file = tmp_path / "net.py"
    file.write_text(TRAINER.replace("KEPT", kept))
    assert [f.location.line for f in analyse([(file, "net.py")]).findings] == lines
