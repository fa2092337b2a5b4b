"""The Python state of a program before and after a call."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from graphdoctor.dynamic.numerics import state
from graphdoctor.dynamic.user_code.target import Sample


class Slotted:
    __slots__ = ("value",)


class Kind(Enum):
    ONE = 1
    TWO = 2


@dataclass
class Box:
    items: list[Any] = field(default_factory=list)
    by_name: dict[str, Any] = field(default_factory=dict)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2))
        self.count = 0
        self.box = Box([1], {"a": 1})
        self.slotted = Slotted()
        self.queue = deque([1])
        self.numbers = itertools.count()
        self.rest = iter([1, 2, 3])
        self.dice = random.Random(0)
        self.kind = Kind.ONE
        self.names = {"a"}
        self.cache = torch.zeros(2)
        self.large = torch.zeros(1 << 17)
        self.weights = torch.Generator()
        self.itself = self.box.items

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def changes(write: Callable[[Net], Any], modules: list[ModuleType] | None = None) -> dict[str, Any]:
    net = Net()
    sample = Sample(net, ())
    before = state.of(sample, modules or [])
    write(net)
    return state.written(before, state.of(sample, modules or [])).leaves


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda net: setattr(net, "count", 1), "attribute count"),
        (lambda net: setattr(net, "count", 0.0), "attribute count"),
        (lambda net: setattr(net, "new", None), "attribute new"),
        (lambda net: delattr(net, "count"), "attribute count"),
        (lambda net: setattr(net.inner[0], "seen", True), "attribute inner.0.seen"),
        (lambda net: net.eval(), "attribute training"),
        (lambda net: net.box.items.append(2), "attribute box.items[1]"),
        (lambda net: net.box.by_name.pop("a"), "attribute box.by_name['a']"),
        (lambda net: setattr(net.slotted, "value", 3), "attribute slotted.value"),
        (lambda net: net.queue.clear(), "attribute queue[0]"),
        (lambda net: next(net.numbers), "attribute numbers"),
        (lambda net: next(net.rest), "attribute rest"),
        (lambda net: net.dice.random(), "attribute dice"),
        (lambda net: setattr(net, "kind", Kind.TWO), "attribute kind"),
        (lambda net: net.names.add("b"), "attribute names{'b'}"),
        (lambda net: net.cache.add_(1), "attribute cache"),
        (lambda net: net.large.add_(1), "attribute large"),
        (lambda net: net.weights.manual_seed(7), "attribute weights"),
    ],
)
def test_what_a_call_writes_is_seen(write: Callable[[Net], Any], name: str) -> None:
    assert name in changes(write)


def test_what_is_only_read_is_no_change() -> None:
    assert changes(lambda net: (net.count, net.box.items[0], net.dice, str(net))) == {}


def test_globals_classes_and_captured_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "import math\nfrom torch import nn\nCOUNT = 0\n"
        "class A:\n    made = 0\n"
        "def f(x, seen=[]):\n    seen.append(x)\n"
        "def g():\n    calls = []\n    return lambda: calls.append(1)\nh = g()\n"
    )
    module = ModuleType("written_module")
    monkeypatch.setitem(sys.modules, "written_module", module)
    exec(source, vars(module))

    def write(net: Net) -> None:
        module.COUNT = 1
        module.A.made = 2
        module.f(1)
        module.f.calls = 1
        module.h()
        module.new = "x"

    found = changes(write, [module])
    assert {"global COUNT", "global A.made", "global f, default 0[0]", "global f.calls", "global new"} <= found.keys()
    assert any(name.startswith("global h, captured calls") for name in found)


def test_the_globals_that_an_object_holds_are_no_state_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # As a kernel of triton holds those of its file, where Dynamo puts what it compiled.
    module = ModuleType("kernels")
    exec("class Kernel:\n    def __init__(self):\n        self.names = globals()\nkernel = Kernel()", vars(module))
    monkeypatch.setitem(sys.modules, "kernels", module)

    def write(net: Net) -> None:
        vars(module)["__compiled_fn_1"] = lambda x: x

    assert changes(write, [module]) == {}


def test_the_environment_is_state(monkeypatch: pytest.MonkeyPatch) -> None:
    found = changes(lambda net: monkeypatch.setenv("GRAPHDOCTOR_TEST", "secret"))
    assert [*found] == ["environment variable GRAPHDOCTOR_TEST"] and "secret" not in str(found)


def test_a_random_state_is_that_of_each_generator() -> None:
    before = state.random_numbers()
    torch.rand(1)
    after = state.random_numbers()
    assert [name for name in before if before[name] != after[name]] == ["the state of torch's random numbers"]
    random.random()
    assert (
        state.random_numbers()["the state of Python's random numbers"] != after["the state of Python's random numbers"]
    )


class Hostile(dict[str, int]):
    """Raises an error for every attribute and method."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __iter__(self) -> Any:
        raise RuntimeError("iterated")

    def __repr__(self) -> str:
        raise RuntimeError("shown")


def test_objects_that_raise_are_passed_over() -> None:
    def write(net: Net) -> None:
        net.box.by_name["hostile"] = module.hostile = Hostile(a=1)
        net.last = module.last = 1

    module = ModuleType("hostile_module")
    assert {"attribute last", "global last"} <= changes(write, [module]).keys()


def test_random_numbers_are_told_without_numpy() -> None:
    # With it, torch has it from its import on.
    code = (
        "import sys\nsys.modules['numpy'] = None\nimport torch\nfrom graphdoctor.dynamic.numerics import state\n"
        "before = state.random_numbers()\nassert before == state.random_numbers()\ntorch.rand(1)\n"
        "assert before != state.random_numbers()\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "complex64", "int64", "bool"])
@pytest.mark.parametrize("size", [0, 5, 4096, 9000])
def test_a_digest_is_the_sum_and_the_norm_and_one_write_changes_it(dtype: str, size: int) -> None:
    tensor = (torch.randn(size, generator=torch.Generator().manual_seed(0)) * 3).to(getattr(torch, dtype))
    exact = (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()
    found = state.digest(tensor)
    torch.testing.assert_close(found, torch.stack([exact.sum(), exact.norm()]), rtol=1e-5, atol=1e-4)
    assert torch.equal(found, state.digest(tensor.clone()))
    if size:
        tensor[size // 2] = tensor[size // 2] == 0 if dtype == "bool" else tensor[size // 2] + 1
        assert not torch.equal(found, state.digest(tensor))


def test_keys_that_each_run_makes_anew_are_called_by_their_place() -> None:
    def names(cache: dict[object, int]) -> list[str]:
        module = nn.Module()
        before = state.of(Sample(module, ()), ())
        module.cache = cache  # type: ignore[assignment]
        return sorted(state.written(before, state.of(Sample(module, ()), ())).leaves)

    first, second = object(), object()
    assert names({uuid.uuid4().hex: 1, id(first): 2}) == names({uuid.uuid4().hex: 1, id(second): 2})
    assert names({str(uuid.uuid4()): 1}) == names({str(uuid.uuid4()): 1})
    assert names({"a": 1}) != names({"b": 1})
    assert names({3: 1}) != names({4: 1})
