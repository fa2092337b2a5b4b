"""What a worker that measures may say, and what becomes of a file that speaks for it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from graphdoctor.advise.run import NoAdvice, advise
from graphdoctor.bench.run import bench
from graphdoctor.dynamic.parent.server import Server
from graphdoctor.model.benchmark import Options, Question

HEAD = """\
import os, stat
import torch


def tell(data):
    for number in range(3, 1024):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                os.write(number, data.encode())
        except OSError:
            pass

"""
RESULT = '{"strategy": "default", "cold": 1.0, "timing": null}'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (r"tell('\x00\n')", "the worker's messages were damaged: .* which is not JSON"),
        (f"""tell('{{"kind": "run", "result": {RESULT}}}\\n')""", "damaged: a result of another strategy"),
        ("os.closerange(3, 65536)", "the code closed or replaced the descriptor of the results"),
    ],
)
def test_a_file_that_speaks_for_the_worker_is_a_failed_measurement(tmp_path: Path, body: str, reason: str) -> None:
    file = tmp_path / "user.py"
    file.write_text(HEAD + body + "\n\ndef graphdoctor_target():\n    return torch.sin, (torch.ones(3),)\n")
    measured = bench(Question(file, tmp_path), Options(("eager",), "eager", seconds=0.1))
    (result,) = measured.results
    assert result.status == "failed"
    assert re.search(reason, result.detail), result.detail


def test_a_worker_that_cannot_be_started_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "user.py"
    file.write_text("import torch\n\n\ndef graphdoctor_target():\n    return torch.sin, (torch.ones(3),)\n")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    question = Question(file, tmp_path)
    with Server() as server:
        (measured,) = bench(question, Options(("eager",), "eager", seconds=0.1), server=server).results
        with pytest.raises(NoAdvice, match="the worker did not start: "):
            advise(question, server=server)
    assert (measured.status, measured.detail.startswith("the worker did not start: ")) == ("failed", True)
