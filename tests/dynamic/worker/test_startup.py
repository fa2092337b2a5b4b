"""What a worker does before it runs anything."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch._dynamo import guards

from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.dynamic.tracing.private_torch import skip_guard_timing
from graphdoctor.dynamic.worker.startup import in_a_fork, warm_up
from graphdoctor.dynamic.worker.worker import temporary_files_in


def compile_once() -> Any:
    torch._dynamo.reset()
    return torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))


def test_guards_are_not_timed_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = []
    real = guards.profile_guard_manager
    monkeypatch.setattr(guards, "profile_guard_manager", lambda *given: timed.append(given) or real(*given))
    compile_once()
    assert len(timed) == 1
    skip_guard_timing()
    assert compile_once().tolist() == [2, 2]
    assert len(timed) == 1


def test_temporary_files_of_imports_lie_where_the_parent_removes_them(tmp_path: Path) -> None:
    usual = tempfile.gettempdir()
    with temporary_files_in(tmp_path), tempfile.TemporaryDirectory() as made:
        assert Path(made).parent == tmp_path
    assert tempfile.gettempdir() == usual


@pytest.mark.parametrize(("cuda", "compiled"), [(None, True), ("12.9", False)])
def test_nothing_is_compiled_where_a_fork_would_lose_the_device(
    monkeypatch: pytest.MonkeyPatch, cuda: str | None, compiled: bool
) -> None:
    for name in ("cuda", "hip", "xpu"):
        monkeypatch.setattr(torch.version, name, cuda if name == "cuda" else None, raising=False)
    torch._dynamo.reset()
    try:
        with record() as recording:
            warm_up()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
    assert bool(recording.starts) is compiled


def test_where_a_fork_would_lose_the_device_the_imports_are_made_all_the_same(root: Path) -> None:
    code = """
import sys
import torch
torch.version.cuda = "13.0"
from graphdoctor.dynamic.worker.startup import warm_up
warm_up()
before = set(sys.modules)
torch.compile(torch.nn.Linear(1, 1), backend="eager")(torch.ones(1)).backward()
print(sorted(set(sys.modules) - before))
"""
    # For a GPU that it finds, torch imports a little more.
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, env=env)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_work_in_a_fork_may_raise_and_crash() -> None:
    assert in_a_fork(lambda: ["a", "b"]) == ["a", "b"]
    assert in_a_fork(lambda: [str(1 // 0)]) == []
    assert in_a_fork(lambda: os.kill(os.getpid(), signal.SIGKILL) or []) == []
