"""Against the real Dynamo: these fail loudly when torch changes the trace that ``capture`` reads."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo
from torch import nn

from graphdoctor.dynamic.tracing.backend import CountingBackend, replace_inductor
from graphdoctor.dynamic.tracing.capture import Recording, raised, record
from graphdoctor.dynamic.tracing.compiled_share import in_eager

X = torch.ones(4, 4)
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def record_calls(function: Callable[..., Any], *calls: torch.Tensor) -> tuple[Recording, CountingBackend]:
    backend = CountingBackend()
    compiled = torch.compile(function, backend=backend)
    with record() as recording:
        for x in calls or (X,):
            compiled(x)
    return recording, backend


def prints(x: torch.Tensor) -> torch.Tensor:
    x = x + 1
    print("é", len(str(print("é"))))
    return x * 2


def branches(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.sum() > 0 else x


def in_loop(x: torch.Tensor) -> torch.Tensor:
    for _ in range(2):
        x = x + 1
        print("loop")
    return x


def test_a_break_is_recorded_with_its_place_and_id() -> None:
    recording, backend = record_calls(branches)
    (event,) = recording.events
    assert event.kind == "resume"
    assert event.gb_id == "GB0170"
    frame = event.traced[-1]
    assert (frame.path, frame.line, frame.name) == (__file__, branches.__code__.co_firstlineno + 1, "branches")
    assert backend.graphs == 2


def chained(x: torch.Tensor) -> torch.Tensor:
    print("before")
    x = (
        x.abs()
        .float()
        .contiguous()
    )  # fmt: skip
    print("behind")
    return x


def test_lines_behind_a_break_are_exact_where_method_calls_have_lines_of_their_own() -> None:
    recording, _ = record_calls(chained)
    first = chained.__code__.co_firstlineno
    assert [event.traced[-1].line - first for event in recording.events] == [1, 7]


@pytest.mark.skipif(VERSION < (2, 13), reason="Dynamo's frames have columns since torch 2.13")
def test_columns_count_characters_from_one() -> None:
    recording, _ = record_calls(prints)
    assert [event.traced[-1].column for event in recording.events] == [24, 5]


def test_a_resume_frame_keeps_its_name_and_torch_is_not_above() -> None:
    recording, _ = record_calls(prints)
    assert recording.events[1].traced[0].name.startswith("torch_dynamo_resume_in_prints_at_")
    above = recording.events[1].above
    assert above[-1].name == "prints"
    assert not any(frame.path.startswith(str(Path(torch.__file__).parent)) for frame in above)
    assert not any("logging" in frame.path for frame in above)


def test_a_break_in_a_loop_skips_the_frame_and_names_the_cause() -> None:
    recording, backend = record_calls(in_loop)
    (event,) = recording.events
    assert (event.kind, event.gb_id) == ("skip", "GB0059")
    assert event.message.startswith("Failed to trace builtin operator")
    assert backend.graphs == 0


def test_recompiles_and_starts() -> None:
    recording, _ = record_calls(lambda x: x + 1, torch.ones(2), torch.ones(3), torch.ones(4))
    assert [(s.frame, s.attempt, s.path) for s in recording.starts] == [(0, 0, __file__), (0, 1, __file__)]
    (failed,) = recording.recompiles
    assert (failed.frame, failed.attempt) == (0, 1)
    assert "size mismatch" in failed.reasons[0]


def test_the_raising_line_of_a_failed_compile() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(3, 5)

    with pytest.raises(RuntimeError) as caught:
        torch.compile(wrong, backend=CountingBackend())(X)
    event = raised(caught.value)
    assert event is not None
    assert event.kind == "raise"
    assert event.traced[-1].line == wrong.__code__.co_firstlineno + 1


def test_loggers_are_left_as_they_were() -> None:
    loggers = [logging.getLogger("torch.__trace"), logging.getLogger("torch._dynamo.convert_frame.__graph_breaks")]
    before = [(list(log.handlers), log.level, log.propagate) for log in loggers]
    with pytest.raises(ZeroDivisionError), record():
        raise ZeroDivisionError
    assert [(list(log.handlers), log.level, log.propagate) for log in loggers] == before


def test_operators_inside_graphs_are_counted() -> None:
    backend = CountingBackend()
    compiled = torch.compile(prints, backend=backend)
    compiled(X)
    assert (backend.graphs, backend.operators) == (2, 2)
    with backend.measure() as inside:
        compiled(X)
    with in_eager(None) as total:
        prints(X)
    assert (inside.total, total.total) == (2, 2)


def test_inductor_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = torch._TorchCompileInductorWrapper
    monkeypatch.setattr(wrapper, "__call__", wrapper.__call__)
    backend = CountingBackend()
    replace_inductor(backend)
    model = nn.Linear(4, 4)
    assert torch.equal(torch.compile(model, mode="reduce-overhead")(X), model(X))
    assert backend.graphs == 1
