"""The assertions leave torch, the model and its arguments as they were."""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo
from _pytest.logging import LogCaptureHandler
from torch import nn
from torch._dynamo import utils

from graphdoctor.testing import assert_fullgraph, assert_max_recompiles, assert_no_graph_breaks


class Restless(nn.Module):
    """Changes all that a forward pass can change."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen = self.seen + 1
        x = self.drop(self.norm(self.linear(x)))
        print(random.random())
        return x + torch.rand(4)


def state(model: nn.Module) -> dict[str, Any]:
    """What a test may look at later."""
    trace = logging.getLogger("torch.__trace")
    return {
        "rng": torch.get_rng_state().tolist(),
        "random": random.getstate(),
        "grad": torch.is_grad_enabled(),
        "training": [module.training for module in model.modules()],
        "state": {name: value.tolist() for name, value in model.state_dict().items()},
        "calls": getattr(model, "calls", None),
        "gradients": [parameter.grad for parameter in model.parameters()],
        "config": torch._dynamo.config.get_config_copy(),
        "handlers": (list(trace.handlers), trace.level, trace.propagate, list(logging.getLogger().handlers)),
        "counters": {name: dict(counts) for name, counts in utils.counters.items()},
        "metrics": list(utils.get_compilation_metrics()),
        "reasons": list(utils.graph_break_reasons),
        "failures": {code: list(reasons) for code, reasons in utils.guard_failures.items()},
    }


ASSERTIONS: dict[str, Callable[..., None]] = {
    "fullgraph": assert_fullgraph,
    "no_graph_breaks": assert_no_graph_breaks,
    "max_recompiles": lambda model, x: assert_max_recompiles(model, [(x,), (x[:2],), (x[:3],)]),
}


@pytest.mark.parametrize("name", ASSERTIONS)
@pytest.mark.parametrize("training", [True, False])
def test_nothing_is_changed(name: str, training: bool) -> None:
    model, x = Restless().train(training), torch.rand(6, 4)
    before, given = state(model), x.clone()
    with torch.no_grad() if not training else torch.enable_grad():
        inside = torch.is_grad_enabled()
        with pytest.raises(AssertionError):
            ASSERTIONS[name](model, x)
        assert torch.is_grad_enabled() == inside
    assert state(model) == before
    assert torch.equal(x, given)


def test_arguments_that_the_model_changes_are_copies() -> None:
    def fill(x: torch.Tensor, found: list[int]) -> torch.Tensor:
        found.append(1)
        return x.add_(1)

    x, found = torch.zeros(3), [0]
    assert_no_graph_breaks(fill, x, found)
    assert (x.tolist(), found) == ([0, 0, 0], [0])


@pytest.mark.skipif(
    "isolate_recompiles" not in torch.compile.__code__.co_varnames, reason="torch before 2.13 has one cache for all"
)
def test_what_the_user_compiled_stays_compiled() -> None:
    compilations: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        compilations.append(1)
        return graph.forward

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    torch._dynamo.reset()
    users = torch.compile(double, backend=backend)
    users(torch.rand(3))
    for _ in range(10):
        assert_fullgraph(double, torch.rand(3))
        assert_max_recompiles(double, [(torch.rand(5),), (torch.rand(5),)])
    users(torch.rand(3))
    assert len(compilations) == 1


def test_a_break_is_seen_in_code_that_dynamo_gave_up_before() -> None:
    def looped(x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            if x.sum() > 0:
                x = x + 1
        return x

    torch._dynamo.reset()
    torch.compile(looped, backend="eager")(torch.rand(3))
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"has 1 graph break:(.|\n)*GB0170(.|\n)*runs uncompiled"):
            assert_no_graph_breaks(looped, torch.rand(3))


def test_our_own_runs_leave_nothing_behind_in_code_that_was_not_compiled() -> None:
    """A frame that Dynamo skipped in our run would silently stay uncompiled in the user's."""
    graphs: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(1)
        return graph.forward

    def sometimes(x: torch.Tensor, loud: bool) -> torch.Tensor:
        for _ in range(2):
            if loud:
                print("loud")
            x = x + 1
        return x

    torch._dynamo.reset()
    with pytest.raises(AssertionError):
        assert_no_graph_breaks(sometimes, torch.rand(3), True)
    torch.compile(sometimes, backend=backend)(torch.rand(3), False)
    assert graphs == [1]


def test_sizes_that_varied_once_are_forgotten() -> None:
    """Dynamo remembers them by file and line, and compiles for any size from then on."""

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    symbols: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        symbols.append(sum(isinstance(given, torch.SymInt) for given in inputs))
        return graph.forward

    for _ in range(2):
        with pytest.raises(AssertionError, match="1 recompile where 0 are allowed"):
            assert_max_recompiles(double, [(torch.rand(size),) for size in (3, 4, 5)])
    torch.compile(double, backend=backend)(torch.rand(3))
    assert symbols == [0]


def test_a_compiled_model_is_checked_by_what_it_was_made_of() -> None:
    net = nn.Linear(3, 3)
    assert_fullgraph(torch.compile(net, backend="eager"), torch.rand(2, 3))
    assert_fullgraph(torch.compile(lambda x: x + 1), torch.rand(2, 3))


def test_a_stance_of_the_user_does_not_hide_breaks() -> None:
    def loud(x: torch.Tensor) -> torch.Tensor:
        print("loud")
        return x + 1

    with torch.compiler.set_stance("force_eager"), pytest.raises(AssertionError, match="GB0059"):
        assert_no_graph_breaks(loud, torch.rand(3))


def test_the_trace_does_not_reach_the_log_of_a_test() -> None:
    """pytest adds a handler of its own to each logger that does not propagate."""
    handler = LogCaptureHandler()
    trace = logging.getLogger("torch.__trace")
    trace.addHandler(handler)
    try:
        with pytest.raises(AssertionError):
            assert_fullgraph(Restless(), torch.rand(6, 4))
    finally:
        trace.removeHandler(handler)
    assert handler.records == []


def test_a_break_inside_a_package_is_placed_there_and_can_be_ignored(tmp_path: Any, monkeypatch: Any) -> None:
    package = tmp_path / "site-packages" / "hublib"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "layers.py").write_text("def layer(x):\n    print('layer')\n    return x + 1\n")
    monkeypatch.syspath_prepend(str(package.parent))
    from hublib.layers import layer

    try:
        with pytest.raises(AssertionError, match=r"hublib/layers\.py:2(:5)? in layer \(GB0059\)"):
            assert_no_graph_breaks(layer, torch.rand(3))
        assert_no_graph_breaks(layer, torch.rand(3), ignore=["hublib.*"])
        with pytest.raises(AssertionError, match="GB0059"):
            assert_no_graph_breaks(layer, torch.rand(3), ignore=["otherlib.*"])
    finally:
        for name in ("hublib", "hublib.layers"):
            sys.modules.pop(name, None)
