"""Planted miscompilations, each found by what it changes; and code that the compiler treats well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx, nn

from benchmarks.audit.planted import Backend, failing, on_copies, swallowing
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.layers import inductor
from graphdoctor.dynamic.layers.audit import audit
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.model.audit import Audited

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Net(nn.Module):
    """Writes to a buffer and to its argument, and gives a part of it back."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        self.calls += 1
        x.mul_(2)
        return self.linear(x).tanh(), x[0], x * 3


class Keeps(nn.Module):
    """Stores a result whose memory is that of another."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        self.last = y.detach()
        return y


def look_up(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(3)[x.sum().long().reshape(1)]


def is_random(x: torch.Tensor) -> torch.Tensor:
    return x + torch.empty(4).uniform_(generator=torch.Generator().manual_seed(torch.seed()))


def audited(function: Callable[..., Any], backend: Backend | str, mode: Mode = "eval") -> Audited:
    """What the one backend does."""
    target = Target("t", lambda: Sample(_made(function), (torch.full((4, 4), 0.5),)), torch.device("cpu"))
    experiment = Experiment(target, mode, RunRequest(Path(__file__), Path(FOLDER)), PLACES, CountingBackend())
    made = inductor.Kept(backend) if isinstance(backend, str) else backend
    (found,) = audit(target, mode, experiment.answer, (), {"planted": made}).backends
    return found


def _made(function: Callable[..., Any]) -> Callable[..., Any]:
    return function() if isinstance(function, type) else function


def changing(change: Callable[[int, torch.Tensor], Any]) -> Backend:
    """A backend whose graphs give other outputs: ``change`` gets the number of each, and the tensor."""

    def backend(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        return lambda *args: tuple(change(number, out) for number, out in enumerate(graph(*args)))

    return backend


def only_first(change: Callable[[torch.Tensor], torch.Tensor]) -> Backend:
    return changing(lambda number, out: change(out) if number == 0 else out)


# What is planted, the mode, and the one oracle that sees it, with a part of what it says.
PLANTED: dict[str, tuple[Callable[..., Any], Backend, Mode, str, str]] = {
    "a sign": (Net, only_first(torch.neg), "eval", "outputs", "output[0]: values differ by up to"),
    "precision": (Net, only_first(lambda out: out.half().float()), "eval", "outputs", "output[0]: values differ"),
    "a stride": (
        Net,
        only_first(lambda out: out.t().contiguous().t()),
        "eval",
        "metadata",
        "the strides of output[0]: (4, 1) and (1, 4)",
    ),
    "a dtype": (Net, only_first(torch.Tensor.double), "eval", "metadata", "dtypes torch.float32 and torch.float64"),
    "requires_grad": (
        Net,
        only_first(torch.Tensor.detach),
        "eval",
        "metadata",
        "requires_grad of output[0] is True in eager and False in the compiled code",
    ),
    "an alias that is lost": (
        Net,
        changing(lambda number, out: out.clone() if number == 1 else out),
        "eval",
        "aliasing",
        "the memory of output[1] is shared with input[0] in eager and its own in the compiled code",
    ),
    "a gradient": (
        Net,
        only_first(lambda out: out.detach() + 0 * out),
        "train",
        "gradients",
        "gradient of linear.weight: values differ",
    ),
    "what is written": (Net, on_copies, "eval", "state", "input[0]: values differ"),
    "an exception that is swallowed": (
        look_up,
        swallowing,
        "eval",
        "exceptions",
        "eager raises IndexError: ",
    ),
    "an exception of its own": (
        Net,
        failing,
        "train",
        "exceptions",
        "the compiled code raises BackendCompilerFailed: NotImplementedError: no kernel",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_miscompilation_is_found_by_its_oracle(name: str) -> None:
    function, backend, mode, oracle, text = PLANTED[name]
    found = audited(function, backend, mode)
    assert found.outcome == "differs"
    assert [deviation for deviation in found.deviations if deviation.oracle == oracle and text in deviation.detail]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    ("function", "mode"),
    [(Net, "eval"), (Net, "train"), (Keeps, "eval"), (look_up, "eval"), (lambda x: (x, x[1:], x.t()), "eval")],
)
def test_healthy_code_is_the_same(function: Callable[..., Any], mode: Mode, backend: str) -> None:
    found = audited(function, backend, mode)
    assert (found.outcome, found.deviations) == ("same", ())


def test_values_are_not_judged_where_other_random_numbers_are_drawn() -> None:
    def drawing(change: Callable[[torch.Tensor], torch.Tensor]) -> Backend:
        def backend(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
            return lambda *args: tuple(change(out) + 0 * torch.rand(()) for out in graph(*args))

        return backend

    found = audited(lambda x: x + 1, drawing(torch.neg))
    assert (found.outcome, found.detail) == ("same", "values not judged, it draws other random numbers (torch's)")
    assert audited(lambda x: x + 1, drawing(torch.Tensor.double)).outcome == "differs"


class Box:
    def __init__(self, held: torch.Tensor) -> None:
        self.held = held


def test_the_strides_of_what_an_object_holds_are_the_compilers() -> None:
    transposed = changing(lambda _number, out: out.t().contiguous().t())
    assert audited(lambda x: Box(x * 2), transposed).deviations == ()
    assert audited(lambda x: {"a.b": x * 2}, transposed).deviations != ()


def test_what_a_compiler_sets_for_itself_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def backend(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        monkeypatch.setenv("OF_THE_COMPILER", "1")
        return graph

    assert audited(Net, backend).deviations == ()


def test_what_lightning_keeps_of_a_compile_in_the_module_is_no_difference() -> None:
    # Its import replaces torch.compile.
    pytest.importorskip("lightning.fabric.wrappers")

    compiled: list[int] = []

    def backend(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        compiled.append(len(graph.graph.nodes))
        return graph

    assert audited(Net, backend).deviations == ()


def test_a_result_that_is_closer_to_float64_than_eagers_is_no_difference() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor]:
        return ((x / 3 * 1e6 + 1e-2 - x / 3 * 1e6).sum(),)

    def exact(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        return lambda *args: tuple(out.float() for out in graph(*(a.double() for a in args)))

    assert audited(function, exact).outcome == "same"


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace")
def test_what_is_random_is_not_judged() -> None:
    target = Target("t", lambda: Sample(is_random, (torch.ones(4),)), torch.device("cpu"))
    experiment = Experiment(target, "eval", RunRequest(Path(__file__), Path(FOLDER)), PLACES, CountingBackend())
    found = audit(target, "eval", experiment.answer, (), {"planted": only_first(torch.neg)})
    assert found.backends[0].outcome == "same"
    assert "two eager runs differ in it: output" in found.detail
