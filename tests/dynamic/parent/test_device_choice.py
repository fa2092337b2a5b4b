"""On a GPU that was not asked for, code that stays on the CPU is run there; the answers of a GPU are made up or real."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from graphdoctor.dynamic.parent import device_choice, runner
from graphdoctor.dynamic.parent.protocol import RunRequest, RunResult
from graphdoctor.model.runs import DynamicRun, Numerics

MIXED = "RuntimeError in eager: Expected all tensors to be on the same device, but found at least two (net.py:8 in f)"
REQUEST = RunRequest(Path("net.py"), Path())


@pytest.mark.parametrize(
    "text",
    [
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        "Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors on cpu "
        "(when checking argument in method wrapper_CUDA_addmm)",
        "Expected object of device type cuda but got device type cpu for argument #1 'self'",
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
        "torch.cat(): all input tensors must be on the same device. Received cuda:0 and cpu",
        "Input and parameter tensors are not at the same device, found input tensor at cuda:0 and parameter at cpu",
        "Expected query, key, and value to have the same device type, but got query.device: cuda:0 key.device: cpu",
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
        "Tensor on device cpu is not on the expected device cuda:0!",
        "Tensor for argument #2 'weight' is on CPU, but expected it to be on GPU (while checking arguments for cudnn)",
        "Expected a 'cuda' device type for generator but found 'cpu'",
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    ],
)
def test_what_torch_says_where_devices_meet(text: str) -> None:
    assert device_choice.mixes_devices(f"RuntimeError in eager: {text} (net.py:8 in f)")


@pytest.mark.parametrize(
    "text",
    [
        "Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same",
        "Input type (torch.HalfTensor) and weight type (torch.FloatTensor) should be the same",
        "mat1 and mat2 shapes cannot be multiplied (2x4 and 5x4)",
        "CUDA error: device-side assert triggered",
        "expected m1 and m2 to have the same dtype, but got: float != double",
        "out of memory in eager: 4 GiB more were asked for",
    ],
)
def test_what_is_another_fault(text: str) -> None:
    assert not device_choice.mixes_devices(f"RuntimeError in eager: {text} (net.py:8 in f)")


def on(device: str, outcome: str, detail: str = "", mode: str = "eval", *, compiled: bool = False) -> DynamicRun:
    numerics = Numerics(None, None, "") if compiled else None
    return DynamicRun("f", mode, device, outcome, detail, numerics=numerics)  # type: ignore[arg-type]


class Answers:
    """What the runs give, in their order, and what was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: tuple[DynamicRun, ...] | Exception) -> None:
        self.requests: list[RunRequest] = []
        self.said: list[str] = []
        self._answers = list(answers)
        monkeypatch.setattr(runner, "run", self._run)

    def of(self, request: RunRequest) -> tuple[RunRequest, RunResult]:
        return device_choice.run(request, self.said.append)

    def _run(self, request: RunRequest, *_others: object) -> RunResult:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return RunResult(answer, {"device": answer[0].device})


def test_it_is_run_again_on_the_cpu_and_a_line_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = Answers(monkeypatch, (on("cuda", "raised", MIXED),), (on("cpu", "ok"),))
    request = replace(REQUEST, reference=tmp_path)
    later, result = answers.of(request)
    assert [asked.device for asked in answers.requests] == ["auto", "cpu"]
    # What is compared with its outputs later is run where they were made.
    assert later == replace(request, device="cpu", reference=tmp_path / "on-cpu")
    assert (tmp_path / "on-cpu").is_dir()
    (run,) = result.runs
    assert (run.device, run.outcome, result.environment) == ("cpu", "ok", {"device": "cpu"})
    line = f"run on the CPU: on cuda it ended with {MIXED}, because part of the code stays on the CPU"
    assert run.left_out == (line,)
    assert answers.said == ["part of the code is not on cuda: running again, on the CPU"]


def test_what_raises_when_it_is_compiled_on_the_cpu_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = on("cpu", "raised", "BackendCompilerFailed", compiled=True)
    _, result = Answers(monkeypatch, (on("cuda", "raised", MIXED),), (failed,)).of(REQUEST)
    assert result.runs[0].device == "cpu"


def test_one_mode_that_mixes_devices_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    first = on("cuda", "ok"), on("cuda", "raised", MIXED, "train")
    _, result = Answers(monkeypatch, first, (on("cpu", "ok"), on("cpu", "ok", mode="train"))).of(REQUEST)
    assert [(run.device, len(run.left_out)) for run in result.runs] == [("cpu", 1), ("cpu", 1)]


@pytest.mark.parametrize(
    "second",
    [
        (on("cpu", "raised", MIXED),),
        (on("cpu", "raised", "AssertionError in eager: Torch not compiled with CUDA enabled"),),
        (on("cpu", "timeout"),),
        runner.NotStarted("no memory", RunResult(())),
    ],
)
def test_where_the_cpu_does_not_suit_it_either_the_first_failure_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, second: tuple[DynamicRun, ...] | Exception
) -> None:
    request = replace(REQUEST, reference=tmp_path)
    first = (on("cuda", "raised", MIXED),)
    later, result = Answers(monkeypatch, first, second).of(request)
    assert (later, result.runs) == (request, first)


@pytest.mark.parametrize(
    ("device", "first"),
    [
        ("cuda", on("cuda", "raised", MIXED)),
        ("cuda:1", on("cuda:1", "raised", MIXED)),
        ("cpu", on("cpu", "raised", MIXED)),
        ("auto", on("cpu", "raised", MIXED)),
        ("auto", on("cuda", "ok")),
        ("auto", on("cuda", "raised", "ValueError in eager: no")),
        ("auto", on("cuda", "raised", MIXED.replace("in eager", "under torch.compile"), compiled=True)),
    ],
)
def test_nothing_is_run_twice(monkeypatch: pytest.MonkeyPatch, device: str, first: DynamicRun) -> None:
    answers = Answers(monkeypatch, (first,))
    request = replace(REQUEST, device=device)
    assert answers.of(request)[1].runs == (first,)
    assert answers.requests == [request]


# On a real one


@pytest.fixture(scope="module")
def server() -> Iterator[runner.Server]:
    with runner.Server() as shared:
        yield shared


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(
    ("kept", "expression", "device"),
    [
        ("nn.Linear(4, 4)", "kept(x)", "cpu"),
        ("nn.Conv1d(2, 2, 1)", "kept(x)", "cpu"),
        ("nn.LSTM(4, 4)", "kept(x)[0]", "cpu"),
        ("nn.Embedding(9, 4)", "kept(x.long())", "cpu"),
        ("torch.ones(4)", "x * kept", "cpu"),
        ("torch.ones(2, 4, dtype=torch.bool)", "x.masked_fill(kept, 0)", "cpu"),
        ("torch.rand(9)", "kept[x.long()]", "cpu"),
        ("torch.ones(2, 4)", "torch.cat([x, kept])", "cpu"),
        ("torch.Generator()", "x + torch.rand(4, generator=kept, device=x.device)", "cpu"),
        ("torch", "kept.from_numpy(x.numpy()) * 2", "cpu"),
        ("nn.Linear(4, 4)", "kept(x.cuda())", "cuda"),
        ("torch.tensor(2.0)", "x * kept", "cuda"),
    ],
)
def test_code_that_stays_on_the_cpu_is_run_there(
    tmp_path: Path, server: runner.Server, kept: str, expression: str, device: str
) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        f"import torch\nfrom torch import nn\n\nkept = {kept}\n\n\ndef f(x):\n    return {expression}\n\n\n"
        "def graphdoctor_target():\n    return f, (torch.rand(2, 4),)\n"
    )
    request = RunRequest(file, tmp_path, mode="eval", recompiles=False, deeper=False)
    later, result = device_choice.run(request, lambda _text: None, server)
    (run,) = result.runs
    assert (run.device, later.device) == (device, "cpu" if device == "cpu" else "auto"), run.detail
    if device == "cpu":
        assert run.outcome == "ok", run.detail
        assert result.environment["device"] == "cpu"
        (line,) = run.left_out
        assert line.startswith("run on the CPU: on cuda it ended with ") and "(net.py:8 in f)" in line
    else:
        assert (run.outcome, run.left_out) == ("raised" if "cuda()" in expression else "ok", ())
