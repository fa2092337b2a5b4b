"""An advice for code that stays on the CPU, on a machine with a GPU: its answers are made up, or real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from graphdoctor.advise import run
from graphdoctor.model.advice import Counted, Placement, Proposal
from graphdoctor.model.benchmark import Bench, Options, Question, Where

MIXED = "RuntimeError while it was measured: Expected all tensors to be on the same device, but found two (net.py:8)"
QUESTION = Question(Path("net.py"), Path())


class Worker:
    """Counts on the CPU unless ``on_cpu`` says what fails there, and on a GPU fails with ``on_gpu``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, on_gpu: str, on_cpu: str | None = None) -> None:
        self.asked: list[str] = []
        self._on_gpu, self._on_cpu = on_gpu, on_cpu
        monkeypatch.setattr(run, "ask", self._ask)

    def _ask(
        self,
        _module: str,
        question: Question,
        _seconds: float,
        _kinds: object,
        say: Callable[[Any], None],
        _server: object,
    ) -> str | None:
        self.asked.append(question.device)
        on_cpu = question.device == "cpu"
        say(Where({"device": "cpu, 2 threads" if on_cpu else "NVIDIA H200"}, "f"))
        if not on_cpu or self._on_cpu:
            return self._on_cpu if on_cpu else self._on_gpu
        say(Counted(Placement("model", "model = torch.compile(model)", compilations=1), 2))
        say(Proposal((0,), "No break.", (), ()))
        return None


def test_it_is_counted_and_measured_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(monkeypatch, MIXED)
    found = run.advise(QUESTION)
    assert worker.asked == ["auto", "cpu"]
    assert (found.environment["device"], found.proposed) == ("cpu, 2 threads", (0,))
    assert found.device_note == (
        f"run on the CPU: on NVIDIA H200 it ended with {MIXED}, because part of the code stays on the CPU"
    )
    benched: list[str] = []

    def bench(question: Question, _options: Options, _progress: object) -> Bench:
        benched.append(question.device)
        return Bench("f", "eval", "eager", ())

    monkeypatch.setattr(run, "bench", bench)
    run.measured(found, QUESTION, Options(()))
    assert benched == ["cpu"]


@pytest.mark.parametrize(
    ("device", "on_gpu", "on_cpu", "asked"),
    [
        ("auto", MIXED, "ValueError: no", ["auto", "cpu"]),
        ("auto", "ValueError: other", None, ["auto"]),
        ("cuda", MIXED, None, ["cuda"]),
    ],
)
def test_else_the_failure_of_the_gpu_is_told(
    monkeypatch: pytest.MonkeyPatch, device: str, on_gpu: str, on_cpu: str | None, asked: list[str]
) -> None:
    worker = Worker(monkeypatch, on_gpu, on_cpu)
    with pytest.raises(run.NoAdvice) as raised:
        run.advise(Question(Path("net.py"), Path(), device=device))
    assert (str(raised.value), worker.asked) == (on_gpu, asked)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_real_one(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n\nnet = torch.nn.Linear(4, 4)\n\n\ndef f(x):\n    return net(x)\n\n\n"
        "def graphdoctor_target():\n    return f, (torch.rand(2, 4),)\n"
    )
    found = run.advise(Question(file, tmp_path))
    assert [(placement.kind, placement.compilations) for placement in found.placements] == [("model", 1)]
    assert "same device" in found.device_note and "net.py:7" in found.device_note
