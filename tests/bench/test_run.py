"""A benchmark of code that stays on the CPU, on a machine with a GPU: its answers are made up, or real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from graphdoctor.bench import run
from graphdoctor.model.benchmark import Measured, Options, Question, Result, Timing, Where

MIXED = "RuntimeError while it was measured: Expected all tensors to be on the same device, but found two (net.py:8)"
QUESTION = Question(Path("net.py"), Path())
OPTIONS = Options(("eager", "default"), "eager")


class Worker:
    """Measures on the CPU, and on a GPU fails as ``on_gpu`` and for a strategy says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, on_gpu: dict[str, str], on_cpu: str | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self._on_gpu, self._on_cpu = on_gpu, on_cpu
        monkeypatch.setattr(run, "ask", self._ask)

    def _ask(
        self, _module: str, question: Question, _seconds: float, _kinds: object, say: Callable[[Any], None], _: object
    ) -> str | None:
        strategy = question.extra["strategy"]
        self.asked.append((strategy, question.device))
        on_cpu = question.device == "cpu"
        say(Where({"device": "cpu, 2 threads" if on_cpu else "NVIDIA H200"}, "f"))
        failure = self._on_cpu if on_cpu else self._on_gpu.get(strategy)
        if failure is None:
            say(Measured(Result(strategy, timing=Timing(0.1, 0.1, 0.1, 9))))
        return failure


def test_eager_finds_out_for_all_strategies(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(monkeypatch, {"eager": MIXED})
    said: list[str] = []
    measured = run.bench(QUESTION, OPTIONS, said.append)
    assert worker.asked == [("eager", "auto"), ("eager", "cpu"), ("default", "cpu")]
    assert [(result.strategy, result.status, bool(result.timing)) for result in measured.results] == [
        ("eager", "ok", True),
        ("default", "ok", True),
    ]
    assert measured.environment["device"] == "cpu, 2 threads"
    assert measured.device_note == (
        f"run on the CPU: on NVIDIA H200 it ended with {MIXED}, because part of the code stays on the CPU"
    )
    assert "part of the code is not on NVIDIA H200: running again, on the CPU" in said


def test_what_fails_on_the_cpu_too_is_told_as_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(monkeypatch, {"eager": MIXED, "default": MIXED}, "ValueError: no")
    measured = run.bench(QUESTION, OPTIONS)
    assert worker.asked == [("eager", "auto"), ("eager", "cpu"), ("default", "auto")]
    assert [(result.status, result.detail) for result in measured.results] == [("failed", MIXED)] * 2
    assert (measured.environment["device"], measured.device_note) == ("NVIDIA H200", "")


def test_what_cannot_be_made_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(_module: str, question: Question, *_: object) -> str:
        asked.append(question.extra["strategy"])
        return "ModuleNotFoundError at import: No module named 'gym' (net.py:1)"

    monkeypatch.setattr(run, "ask", ask)
    measured = run.bench(QUESTION, OPTIONS)
    assert asked == ["eager"]
    assert [result.status for result in measured.results] == ["failed", "skipped"]


@pytest.mark.parametrize(
    ("device", "on_gpu"),
    [("cuda", {"eager": MIXED}), ("auto", {"eager": "ValueError: no"}), ("auto", {"default": MIXED})],
)
def test_nothing_is_measured_twice(monkeypatch: pytest.MonkeyPatch, device: str, on_gpu: dict[str, str]) -> None:
    worker = Worker(monkeypatch, on_gpu)
    measured = run.bench(Question(Path("net.py"), Path(), device=device), OPTIONS)
    assert worker.asked == [("eager", device), ("default", device)]
    assert measured.device_note == ""


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_real_one(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n\nnet = torch.nn.Linear(4, 4)\n\n\ndef f(x):\n    return net(x)\n\n\n"
        "def graphdoctor_target():\n    return f, (torch.rand(2, 4),)\n"
    )
    measured = run.bench(Question(file, tmp_path), Options(("eager", "default"), "eager", seconds=0.05))
    assert [result.status for result in measured.results] == ["ok", "ok"], measured.results
    assert measured.environment["device"] is not None and measured.environment["device"].startswith("cpu")
    assert "same device" in measured.device_note and "net.py:7" in measured.device_note
