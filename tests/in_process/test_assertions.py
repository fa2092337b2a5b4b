"""Ways in which an assertion could pass although the model breaks, or fail although it does not."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo
from torch import nn

from graphdoctor.dynamic.tracing import private_torch
from graphdoctor.testing import assert_fullgraph, assert_max_recompiles, assert_no_graph_breaks

BOTH = pytest.mark.parametrize("check", [assert_fullgraph, assert_no_graph_breaks])

SOURCE = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        x = x.sin()
        print("break")
        return x + 1

def clean(x):
    return x + 1
"""


class Cosine(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.cos()


class Loud(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.sin()
        print("break")
        return x + 1


@BOTH
@pytest.mark.parametrize(
    "name",
    ["<stdin>", "<string>", "<ipython-input-1-0a1b>", "<python-input-3>", "<doctest m[0]>", "/tmp/ipykernel_1/2.py"],
)
def test_source_without_a_file(check: Callable[..., None], name: str) -> None:
    made: dict[str, Any] = {"__name__": "typed"}
    exec(compile(SOURCE, name, "exec"), made)
    with pytest.raises(AssertionError, match=r"1 graph break:(.|\n)*" + rf"{name}:6\b".replace("[", r"\[")):
        check(made["Net"](), torch.rand(3))
    check(made["clean"], torch.rand(3))


def test_a_program_on_the_standard_input() -> None:
    program = SOURCE + (
        "\nfrom graphdoctor.testing import assert_no_graph_breaks\n"
        "assert_no_graph_breaks(clean, torch.rand(3))\nassert_no_graph_breaks(Net(), torch.rand(3))\n"
    )
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, timeout=120)
    assert "AssertionError: Net has 1 graph break" in done.stderr


@BOTH
def test_before_torch_2_13_the_caches_are_cleared_on_the_way_out(
    check: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``torch._dynamo.reset()`` calls ``reset`` of each backend, and the graphs were counted there."""
    monkeypatch.setattr(private_torch, "ISOLATES", False)
    check(Cosine(), torch.rand(3))
    with pytest.raises(AssertionError, match="1 graph break"):
        check(Loud(), torch.rand(3))


@BOTH
def test_a_function_that_is_disabled_without_what_it_calls(check: Callable[..., None]) -> None:
    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = Cosine()

        @torch._dynamo.disable(recursive=False)
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.part(x).sin()

    with pytest.raises(
        AssertionError, match=r"only parts of it were compiled(.|\n)*test_assertions\.py:\d+ in .*forward"
    ):
        check(Root(), torch.rand(3))


@BOTH
def test_a_failed_compilation_that_the_model_catches(check: Callable[..., None]) -> None:
    class Careful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loud = torch.compile(Loud(), fullgraph=True, backend="eager")
            self.part = Cosine()

        @torch._dynamo.disable(recursive=False)
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with contextlib.suppress(torch._dynamo.exc.TorchDynamoException):
                x = self.loud(x)
            return self.part(x)

    with pytest.raises(AssertionError):
        check(Careful(), torch.rand(3))


@BOTH
@pytest.mark.parametrize("called", [False, True])
def test_a_module_that_was_compiled_in_place(check: Callable[..., None], called: bool) -> None:
    quiet, loud = Cosine(), Loud()
    for module in (quiet, loud):
        module.compile(backend="eager")
        if called:
            module(torch.rand(3))
    kept = quiet._compiled_call_impl
    check(quiet, torch.rand(3))
    assert quiet._compiled_call_impl is kept is not None
    with pytest.raises(AssertionError, match="1 graph break"):
        check(loud, torch.rand(3))


@BOTH
def test_settings_of_the_user_hide_no_break(check: Callable[..., None]) -> None:
    with torch._dynamo.config.patch(suppress_errors=True), pytest.raises(AssertionError, match="1 graph break"):
        check(Loud(), torch.rand(3))
    with (
        torch._dynamo.config.patch(disable=True),
        pytest.raises(AssertionError, match=r"nothing was compiled|no compiled frames"),
    ):
        check(Cosine(), torch.rand(3))


@BOTH
def test_breaks_inside_torch_are_breaks(check: Callable[..., None]) -> None:
    with pytest.raises(AssertionError, match="1 graph break"):
        check(nn.LSTM(3, 3), torch.rand(2, 1, 3))


@BOTH
def test_one_graph_in_all_that_a_model_may_do(check: Callable[..., None]) -> None:
    """Functions that are not compiled themselves, because torch's decorators and wrappers call them, are no defect."""

    class Rich(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.part = torch.compile(Cosine(), backend="eager")
            self.calls = 0

        @torch.no_grad()
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            self.calls += 1
            x = torch.utils.checkpoint.checkpoint(self.linear, x, use_reentrant=False)
            return {"y": self.part(x), "n": torch.func.vmap(torch.sin)(x)}

    check(Rich(), torch.rand(2, 3))
    check(Rich().forward, torch.rand(2, 3))
    check(nn.Sequential(Cosine(), nn.Linear(3, 3)), torch.rand(2, 3))


@BOTH
def test_scripted_parts(check: Callable[..., None]) -> None:
    # Older versions of torch run it as it is.
    with pytest.raises((RuntimeError, AssertionError), match=r"does not support compiling|is a scripted module"):
        check(torch.jit.script(nn.Linear(3, 3)), torch.rand(2, 3))


def test_wrong_arguments_are_one_line() -> None:
    with pytest.raises(TypeError, match=r"^the model is a str: give a module or a function, then its arguments$"):
        assert_fullgraph("net", torch.ones(2))  # type: ignore[arg-type]
    calls: list[Any] = [(torch.ones(2, 4),), torch.ones(3, 4)]
    with pytest.raises(TypeError, match=r"^calls\[1\] is a Tensor: give a tuple of arguments for each call, \(x,\)$"):
        assert_max_recompiles(nn.Linear(4, 4), calls)


def test_arguments_that_eager_does_not_take_raise_its_error() -> None:
    """They are no graph break: nothing in the model is to be changed."""
    net = nn.Linear(16, 4)
    wrong = torch.rand(4, 15)
    for check in (
        lambda: assert_fullgraph(net, wrong),
        lambda: assert_no_graph_breaks(net, wrong),
        lambda: assert_max_recompiles(net, [(torch.rand(4, 16),), (wrong,)], max_recompiles=1),
    ):
        with pytest.raises(RuntimeError, match=r"shapes cannot be multiplied \(4x15 and 16x4\)"):
            check()
