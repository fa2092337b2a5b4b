"""Attributes that change with each call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch._dynamo.utils import counters

from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse

NET = """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 1
        self.flags = 2

    def forward(self, x):
        self.seen {operator} self.flags
        return x * self.seen
"""


@pytest.mark.parametrize(("operator", "rules"), [("+=", ["GD701"]), ("|=", []), ("&=", [])])
def test_what_gives_the_same_again_is_no_counter(tmp_path: Path, operator: str, rules: list[str]) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(operator=operator))
    assert [finding.rule for finding in analyse([(file, "net.py")]).findings] == rules


CACHE = """\
import torch
import torch.nn as nn


class Cache:
    def __init__(self, length):
        self.length = length

    def grow(self, count):
        self.length += count


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = Cache(4)

    def forward(self, x, cache):
        cache.length += x.shape[0]
        {owner}.grow(2)
        return x * 2


def graphdoctor_target():
    return Net(), (torch.rand(4, 8), Cache(0))
"""


@pytest.mark.parametrize(
    ("owner", "found"),
    [("cache", [(10, "info"), (19, "info")]), ("self.kept", [(10, "warning"), (19, "info")])],
)
def test_an_int_of_an_object_that_is_passed_becomes_a_symbol(
    tmp_path: Path, owner: str, found: list[tuple[int, str]]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(CACHE.format(owner=owner))
    assert [(f.location.line, f.severity) for f in analyse([(file, "net.py")]).findings] == found


@pytest.mark.parametrize("passed", ["[Cache(0)]", "({'first': Cache(0)},)"])
def test_so_does_one_of_an_object_in_a_list_that_is_passed(tmp_path: Path, passed: str) -> None:
    place = "caches[0]" if passed.startswith("[") else "caches[0]['first']"
    text = CACHE.replace("cache):", f"caches):\n        cache = {place}").replace("Cache(0)", passed)
    file = tmp_path / "net.py"
    file.write_text(text.replace("{owner}", "cache"))
    assert [(f.location.line, f.severity) for f in analyse([(file, "net.py")]).findings] == [(10, "info"), (20, "info")]
    namespace: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    net, args = namespace["graphdoctor_target"]()
    counter = CompileCounter()
    compiled = torch.compile(net, backend=counter)
    for _ in range(6):
        compiled(*args)
    assert counter.frame_count == 2


CALLED = """\
import torch


class Schedule:
    def __init__(self):
        self.number = 0

    def __call__(self, x):
        self.number += 1
        return x * self.number


schedule = Schedule()
compiled = torch.compile({compiled}, backend="eager")
compiled(torch.rand(4))
"""


@pytest.mark.parametrize(
    ("compiled", "severity", "compilations"), [("schedule", "info", 2), ("lambda x: schedule(x)", "warning", 6)]
)
def test_so_does_one_of_an_object_that_is_compiled(
    tmp_path: Path, compiled: str, severity: str, compilations: int
) -> None:
    """And not one of an object that compiled code finds as a global."""
    text = CALLED.replace("{compiled}", compiled)
    file = tmp_path / "net.py"
    file.write_text(text)
    assert [(f.location.line, f.severity) for f in analyse([(file, "net.py")]).findings] == [(9, severity)]
    counter = CompileCounter()
    namespace: dict[str, Any] = {"counter": counter}
    exec(compile(text.replace('"eager"', "counter"), str(file), "exec"), namespace)
    for _ in range(5):
        namespace["compiled"](torch.rand(4))
    assert counter.frame_count == compilations


@pytest.mark.parametrize(("base", "rules"), [("torchvision.transforms.v2.Compose", []), ("torch.nn.Module", ["GD701"])])
def test_a_transform_of_a_loader_counts_in_eager(tmp_path: Path, base: str, rules: list[str]) -> None:
    file = tmp_path / "transforms.py"
    lines = "self.seen += 1\n        return x * 2"
    imported = base.rpartition(".")[0]
    file.write_text(
        f"import {imported}\n\n\nclass Mix({base}):\n    seen = 0\n\n    def forward(self, x):\n        {lines}\n"
    )
    assert [finding.rule for finding in analyse([(file, "transforms.py")]).findings] == rules


PLAIN = """\
import torch


class Count{base}:
    count = 0

    def __init__(self):
        super().__init__()
        self.n = 0

    {decorator}
    def step(self, x):
        {target}.{name} += 1
        return x + 1


def graphdoctor_target():
    return Count().step, (torch.rand(4),)
"""


@pytest.mark.parametrize(
    ("base", "target", "name", "severity", "compilations"),
    [
        ("", "self", "n", "info", 2),
        ("(torch.nn.Module)", "self", "n", "warning", 6),
        ("", "Count", "count", "warning", 6),
    ],
)
def test_an_int_of_a_plain_object_whose_method_is_compiled_becomes_a_symbol(
    tmp_path: Path, base: str, target: str, name: str, severity: str, compilations: int
) -> None:
    file = tmp_path / "count.py"
    text = PLAIN.format(base=base, target=target, name=name, decorator="")
    file.write_text(text)
    (finding,) = analyse([(file, "count.py")]).findings
    assert (finding.rule, finding.severity) == ("GD701", severity)
    namespace: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), namespace)
    step, arguments = namespace["graphdoctor_target"]()
    counter = CompileCounter()
    compiled = torch.compile(step, backend=counter)
    for _ in range(6):
        compiled(*arguments)
    assert counter.frame_count == compilations


def test_an_int_of_an_object_whose_decorated_method_is_called_becomes_a_symbol(tmp_path: Path) -> None:
    file = tmp_path / "count.py"
    text = PLAIN.format(base="", target="self", name="n", decorator="@torch.compile")
    file.write_text(text.partition("def graphdoctor_target")[0] + "Count().step(torch.rand(4))\n")
    assert [(f.rule, f.severity) for f in analyse([(file, "count.py")]).findings] == [("GD701", "info")]


STEPS = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.past = 0

    def forward(self, x, step=None):
        if step is None or step == 0:
            self.past = {first}
        y = x[self.past :]
        self.past += 2
        return y


net = torch.compile(Net(), backend="eager")
for step in range(3):
    net(torch.rand(40, 4){step})
"""


@pytest.mark.parametrize(
    ("first", "step", "lines"),
    [("0", "", []), ("0", ", step", [14]), ("self.past % 3", "", [14]), ("self.past + 1", "", [12, 14])],
)
def test_what_each_call_begins_anew_does_not_count_calls(
    tmp_path: Path, first: str, step: str, lines: list[int]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(STEPS.format(first=first, step=step))
    found = [f.location.line for f in analyse([(file, "net.py")]).findings if f.rule == "GD701"]
    assert found == lines
    torch._dynamo.reset()
    counters.clear()
    exec(compile(file.read_text(), str(file), "exec"), {})
    assert (counters["stats"]["unique_graphs"] == 1) == (not lines)


DELIVERY = """\
class Delivery:
    def __init__(self, parts):
        self.parts = parts
        self.next = 0

    def __call__(self):
        part = self.parts[self.next]
        self.next += 1
        return part
"""
RECEIVER = """\
import torch.nn as nn
from delivery import Delivery


class Net(nn.Module):
    def take(self, x, parts):
        return x if parts is None else x + parts()

    def forward(self, x, parts=None):
        if parts is not None:
            parts = Delivery(parts)
        return self.take(self.take(x, parts), parts)
"""


def test_an_object_that_each_call_makes_anew_counts_no_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / "delivery.py", tmp_path / "receiver.py"]
    for file, text in zip(files, (DELIVERY, RECEIVER), strict=True):
        file.write_text(text)
    assert not analyse([(file, file.name) for file in files]).findings
    monkeypatch.syspath_prepend(tmp_path)
    torch._dynamo.reset()
    counters.clear()
    names: dict[str, Any] = {}
    exec(compile(RECEIVER, "receiver.py", "exec"), names)
    net = torch.compile(names["Net"](), backend="eager", fullgraph=True)
    for _ in range(3):
        net(torch.zeros(2), [torch.ones(2), torch.ones(2)])
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize(
    ("value", "compilations"),
    [("int(not self.seen)", 2), ("1 - self.seen", 2), ("1 - self.seen * 2", 6), ("2 + self.seen", 6)],
)
def test_a_number_that_alternates_is_no_counter(tmp_path: Path, value: str, compilations: int) -> None:
    file = tmp_path / "net.py"
    source = NET.format(operator="=").replace("= self.flags", f"= {value}").replace("self.seen = 1", "self.seen = 0", 1)
    file.write_text(source)
    assert [f.rule for f in analyse([(file, file.name)]).findings] == ["GD701"] * (compilations > 2)
    torch._dynamo.reset()
    names: dict[str, Any] = {}
    exec(compile(source, "net.py", "exec"), names)
    count = CompileCounter()
    net = torch.compile(names["Net"](), backend=count)
    for _ in range(6):
        net(torch.zeros(2))
    assert count.frame_count == compilations


GLOBAL = """\
import torch

CALLS = 0


@torch.compile
def step(x):
    global CALLS
    CALLS += 1
    return x * {factor}
"""


@pytest.mark.parametrize(
    ("factor", "version", "rules"),
    [("2", "2.13.0", ["GD701"]), ("2", "2.14.0", []), ("CALLS", "2.14.0", ["GD701"])],
)
def test_a_global_that_is_only_counted_is_no_guard_since_torch_2_15(
    tmp_path: Path, factor: str, version: str, rules: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(GLOBAL.format(factor=factor))
    active = catalog.holding(catalog.rules(), version)
    assert [finding.rule for finding in analyse([(file, "net.py")], active).findings] == rules


POSITION = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Buffer(torch.rand(8, 4))
        self.start = 0

    def forward(self, x):
        x = x + {used}
        self.start += 1
        return x
"""


@pytest.mark.parametrize(
    ("used", "advice"),
    [
        ("self.table[self.start : self.start + 1]", "pass the number in"),
        ("torch.arange(self.start, self.start + 1)", "pass the number in"),
        ("self.table[0] * self.start", "in a tensor buffer"),
    ],
)
def test_a_position_is_passed_and_not_kept_in_a_tensor(tmp_path: Path, used: str, advice: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(POSITION.format(used=used))
    (finding,) = analyse([(file, "net.py")]).findings
    assert finding.rule == "GD701" and advice in finding.suggestion


def test_a_position_that_is_passed_is_compiled_twice() -> None:
    table = torch.rand(64, 4)
    count = CompileCounter()
    torch._dynamo.reset()
    step = torch.compile(lambda x, start: x + table[start : start + 1], backend=count)
    for start in range(2, 8):
        step(torch.zeros(1, 4), start)
    assert count.frame_count == 2


CHECKPOINTED = """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.layer(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)


net = Net()
"""
START = "self.calls = 0"
BUFFER = 'self.register_buffer("calls", torch.tensor(0))'


def test_a_counter_in_a_checkpointed_function_is_no_attribute(tmp_path: Path, splits: Callable[..., bool]) -> None:
    file = tmp_path / "net.py"
    file.write_text(CHECKPOINTED)
    (finding,) = analyse([(file, "net.py")]).findings
    assert finding.message == "`self.calls` changes in every call, and the checkpointed function is left uncompiled"
    assert finding.fix is not None and ".add_(1)" in finding.suggestion
    assert finding.fix.reason == "The function is checkpointed, and may set no attribute, not even to a tensor."
    buffered = CHECKPOINTED.replace("import torch.nn as nn", "import torch\nimport torch.nn as nn").replace(
        START, BUFFER
    )
    assert splits(buffered, "net", torch.rand(2, 8))
    assert not splits(buffered.replace("self.calls += 1", "self.calls.add_(1)"), "net", torch.rand(2, 8))
