"""How many threads the runs on varied inputs take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.parent import runner
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.worker import threads
from graphdoctor.dynamic.worker.experiment import Experiment

PLACES = Places(root=str(Path(__file__).parent), own=(), torch=str(Path(torch.__file__).parent))


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def chosen(folder: Path, function: Callable[[torch.Tensor], torch.Tensor], eager: float = 0.1) -> bool:
    """Whether one thread was chosen for ``function``, of which an eager run took so long; the threads are as before."""
    target = Target("f", lambda: Sample(function, (torch.ones(2),)), torch.device("cpu"))
    request = RunRequest(Path(__file__), Path(__file__).parent)
    experiment = Experiment(target, "eval", request, PLACES, CountingBackend())
    experiment.budget.know(eager, eager)
    threads.choose(experiment, folder)
    assert torch.get_num_threads() == 2
    return comparison.load(folder, "threads") is not None


def slow_with(count: int) -> Callable[[torch.Tensor], torch.Tensor]:
    def function(x: torch.Tensor) -> torch.Tensor:
        if torch.get_num_threads() == count:
            time.sleep(0.3)
        return x + 1

    return function


def test_one_thread_is_taken_where_more_take_longer(tmp_path: Path) -> None:
    assert chosen(tmp_path / "one", slow_with(2))
    assert not chosen(tmp_path / "two", slow_with(1))
    assert not chosen(tmp_path / "long", slow_with(2), eager=100.0)


def test_code_that_cannot_be_called_again_keeps_its_threads(tmp_path: Path) -> None:
    def ends(x: torch.Tensor) -> torch.Tensor:
        raise SystemExit(3)

    assert not chosen(tmp_path, ends)


def test_a_number_that_the_code_sets_itself_stays(tmp_path: Path) -> None:
    comparison.save({"all": 2}, tmp_path, "threads")
    torch.set_num_threads(3)
    threads.use_few(tmp_path)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(2)
    threads.use_few(tmp_path / "nothing was written")
    assert torch.get_num_threads() == 2
    threads.use_few(tmp_path)
    assert torch.get_num_threads() == 1


SOURCE = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.a(x) * (1 if torch.get_num_threads() == 1 else 2)

def graphdoctor_target():
    return Net(), (torch.ones(2, 4),)
"""


def test_the_original_and_the_fixed_code_take_the_same_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    file, reference = tmp_path / "net.py", tmp_path / "reference"
    file.write_text(SOURCE)
    comparison.save({"all": 2}, reference, "threads")
    request = RunRequest(file, tmp_path, mode="eval", reference=reference, varied=True)
    assert runner.run(request).varied[0].calls
    same = RunRequest(file, tmp_path, mode="eval", reference=reference, varied=True, compare=True)
    assert [(v.differs, v.changes) for v in runner.run(same).varied] == [("", "")]
    (reference / "threads.pt").unlink()
    assert "output" in runner.run(same).varied[0].differs
