"""The whole way, with real worker processes. Each costs an import of torch, so that runs and a server are shared."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.dynamic.parent.runner import (
    InputSpecError,
    NotStarted,
    RunRequest,
    RunResult,
    Server,
    left_out,
    mode_of,
    run,
    torch_available,
)
from graphdoctor.model.runs import DynamicRun

MODEL = """\
import torch
from torch import nn

import helpers


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = self.drop(self.norm(self.linear(x)))
        print("forward")
        if self.training:
            x = x + 1
        return {"y": helpers.scaled(x)}


def graphdoctor_target():
    return Net(), (torch.randn(3, 4),)


def graphdoctor_variants():
    return [(torch.randn(n, 4),) for n in (3, 4, 5)]
"""
HELPERS = """\
def scaled(x):
    if x.sum() > 0:
        return x * 2
    return x * 3
"""
FIXED_MODEL = MODEL.replace('print("forward")', "pass")
FIXED_HELPERS = "import torch\n\n\ndef scaled(x):\n    return torch.where(x.sum() > 0, x * 2, x * 3)\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "model.py").write_text(MODEL)
    (folder / "helpers.py").write_text(HELPERS)
    return folder


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reference")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One process for the runs that need none of their own."""
    with Server() as shared:
        yield shared


@pytest.fixture(scope="module")
def phrases() -> list[str]:
    return []


@pytest.fixture(scope="module")
def result(project: Path, reference: Path, phrases: list[str]) -> RunResult:
    watch = (str(project / "model.py"), str(project / "helpers.py"))
    return run(RunRequest(project / "model.py", project, reference=reference, watch=watch), phrases.append)


@pytest.fixture(scope="module")
def fixed(project: Path, reference: Path, result: RunResult, server: Server) -> RunResult:
    overlay = {str(project / "model.py"): FIXED_MODEL, str(project / "helpers.py"): FIXED_HELPERS}
    request = RunRequest(project / "model.py", project, overlay=overlay, reference=reference, compare=True)
    return run(request, server=server)


def test_one_run_for_each_mode(result: RunResult) -> None:
    assert [(r.target, r.mode, r.outcome) for r in result.runs] == [("Net", "eval", "ok"), ("Net", "train", "ok")]


@pytest.mark.parametrize("mode", [0, 1])
def test_breaks_are_placed_in_the_users_code(result: RunResult, mode: int) -> None:
    found = result.runs[mode].breaks
    assert [(b.path, b.line, b.function, b.gb_id, b.owner) for b in found] == [
        ("model.py", 16, "Net.forward", "GB0059", "own"),
        ("helpers.py", 2, "scaled", "GB0170", "own"),
    ]
    assert found[1].events == 2
    assert [(f.path, f.line) for f in found[1].stack] == [("model.py", 19), ("helpers.py", 2)]


def test_verdicts_of_the_run(result: RunResult) -> None:
    evaluated = result.runs[0]
    assert evaluated.graphs == 3
    assert evaluated.fullgraph.passes is False
    assert (evaluated.fullgraph.path, evaluated.fullgraph.line) == ("model.py", 16)
    assert evaluated.explain is not None and evaluated.explain.disagrees
    assert evaluated.numerics is not None and evaluated.numerics.equal is True
    assert evaluated.compiled_share is not None and 0.5 < evaluated.compiled_share <= 1


def test_recompiles_of_the_variants(result: RunResult) -> None:
    (found,) = result.runs[0].recompiles
    assert (found.input, found.dimension, found.compilations, found.verified_compilations) == ("x", 0, 2, 1)


def test_executed_lines_differ_by_mode(result: RunResult) -> None:
    evaluated, trained = (r.executed["model.py"] for r in result.runs)
    assert 16 in evaluated and 18 not in evaluated
    assert 18 in trained
    assert 2 in result.runs[0].executed["helpers.py"]


def test_progress_and_environment(result: RunResult, phrases: list[str]) -> None:
    assert "importing model.py" in phrases
    assert any("fullgraph=True" in phrase for phrase in phrases)
    assert result.environment["torch"] == torch_available()
    assert result.environment["device"]
    assert "torch" not in sys.modules or "_pytest" in sys.modules


def test_overlay_is_verified_against_the_original(fixed: RunResult, project: Path) -> None:
    for found in fixed.runs:
        assert (found.outcome, found.graphs, found.breaks) == ("ok", 1, ())
        assert found.fullgraph.passes is True
        assert found.explain is None
        assert found.numerics is not None and found.numerics.equal is True, found.numerics
    assert (project / "model.py").read_text() == MODEL
    assert sorted(path.name for path in project.iterdir()) == ["helpers.py", "model.py"]


def test_a_wrong_fix_is_caught(project: Path, reference: Path, result: RunResult, server: Server) -> None:
    overlay = {str(project / "helpers.py"): "def scaled(x):\n    return x * 4\n"}
    request = RunRequest(project / "model.py", project, mode="eval", overlay=overlay, reference=reference, compare=True)
    (found,) = run(request, server=server).runs
    assert found.numerics is not None
    assert found.numerics.equal is False
    assert "eager differs from the original" in found.numerics.detail


CHECKPOINTED = """\
import torch
from torch.utils.checkpoint import checkpoint


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.dropout = torch.nn.Dropout(0.5)

    def inner(self, x):
        return self.dropout(self.linear(x).relu())

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False).sin()


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
"""


def test_dropout_in_a_checkpoint_has_the_gradients_of_eager(tmp_path: Path, server: Server) -> None:
    file = tmp_path / "checkpointed.py"
    file.write_text(CHECKPOINTED)
    (found,) = run(RunRequest(file, tmp_path, mode="train", deeper=False), server=server).runs
    assert (found.graphs, found.breaks) == (1, ())
    assert found.numerics is not None and found.numerics.equal is True, found.numerics


def test_bad_input_spec_is_rejected_before_anything_runs(project: Path) -> None:
    with pytest.raises(InputSpecError):
        run(RunRequest(project / "model.py", project, inputs=("float99[2]",)))


# User code that misbehaves

TARGET = "\n\ndef graphdoctor_target():\n    return f, (torch.ones(3),)\n"


def outcome(folder: Path, body: str, server: Server | None = None, **options: Any) -> DynamicRun:
    file = folder / "user.py"
    file.write_text("import os, subprocess, sys, time\nimport torch\n" + body + TARGET)
    (found,) = run(RunRequest(file, folder, **options), server=server).runs
    assert "\n" not in found.detail
    assert left(folder) == []
    return found


def alive(folder: Path) -> list[str]:
    """The processes that were started with a path in ``folder`` as an argument."""
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc/self").exists() else ():
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if entry.name.isdigit() and str(folder) in command:
            found.append(command)
    return found


def left(folder: Path, patience: float = 60) -> list[str]:
    """What is still alive after ``patience`` seconds, within which the kernel ends the killed ones."""
    end = time.monotonic() + patience
    while (found := alive(folder)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_raises_at_import(tmp_path: Path, server: Server) -> None:
    found = outcome(tmp_path, "raise ValueError('boom\\nsecond line')", server)
    assert (found.outcome, found.detail) == ("raised", "ValueError at import: boom (user.py:3 in <module>)")


def test_sys_exit_in_forward(tmp_path: Path, server: Server) -> None:
    found = outcome(tmp_path, "def g(x):\n    sys.exit(0)\ndef f(x):\n    return g(x)", server)
    assert (found.outcome, found.detail) == ("exited", "sys.exit(0) in eager (user.py:4 in g)")


def test_os_exit(tmp_path: Path, server: Server) -> None:
    found = outcome(tmp_path, "def f(x):\n    print('last words', file=sys.stderr)\n    os._exit(3)", server)
    assert found.outcome == "exited"
    assert "code 3" in found.detail and "last words" in found.detail


def test_segfault(tmp_path: Path, server: Server) -> None:
    found = outcome(tmp_path, "import ctypes\ndef f(x):\n    ctypes.string_at(0)", server)
    assert found.outcome == "crashed"
    assert "SIGSEGV" in found.detail


def test_timeout_and_children_that_outlive_the_worker(tmp_path: Path, server: Server) -> None:
    body = (
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)', {str(tmp_path)!r}], env={{}},\n"
        "                 start_new_session=True)\n"
        "def f(x):\n    time.sleep(3600)"
    )
    found = outcome(tmp_path, body, server, timeout=15)
    assert (found.outcome, found.detail) == ("timeout", "no result after 15 s, while running in eager (eval)")


def test_output_hanging_exit_and_a_fork_that_comes_back(tmp_path: Path, server: Server) -> None:
    body = (
        "import atexit\n"
        "atexit.register(time.sleep, 3600)\n"
        "for i in range(1_000_000):\n    print('line', i)\n"
        "def f(x):\n    return x + 1\n"
        "os.fork()"
    )
    found = outcome(tmp_path, body, server)
    assert (found.outcome, found.graphs) == ("ok", 1)


def test_memory_limit(tmp_path: Path) -> None:
    body = "def f(x):\n    kept = [torch.ones(1 << 22) for _ in range(200)]\n    time.sleep(3600)\n    return x"
    found = outcome(tmp_path, body, memory_mb=1200)
    assert found.outcome == "memory"
    assert "1200 MiB" in found.detail


def test_nothing_to_run(tmp_path: Path, server: Server) -> None:
    file = tmp_path / "plain.py"
    file.write_text("x = 1\n")
    (found,) = run(RunRequest(file, tmp_path), server=server).runs
    assert found.outcome == "no-target"
    assert "graphdoctor_target" in found.detail


def test_what_ran_before_the_crash_is_kept(tmp_path: Path, server: Server) -> None:
    body = "def f(x):\n    if torch.compiler.is_compiling():\n        os._exit(4)\n    return x + 1"
    found = outcome(tmp_path, body, server, watch=(str(tmp_path / "user.py"),))
    assert (found.target, found.outcome) == ("f", "exited")
    assert found.detail.startswith("the process ended with code 4 while compiling")
    assert 6 in found.executed["user.py"]


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_an_interrupt_leaves_no_process(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    marker = tmp_path / "started"
    file.write_text(f"import time\nopen({str(marker)!r}, 'w').close()\ntime.sleep(3600)\n")
    code = (
        "import sys\nfrom pathlib import Path\nfrom graphdoctor.dynamic.parent.runner import RunRequest, run\n"
        "run(RunRequest(Path(sys.argv[1]), Path(sys.argv[1]).parent))"
    )
    # Its temporary folder lies below tmp_path, so that ``alive`` sees the worker.
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(file)], env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE
    )
    while not marker.exists() and parent.poll() is None:
        time.sleep(0.05)
    assert len(alive(tmp_path)) == 2
    parent.send_signal(signal.SIGINT)
    _, errors = parent.communicate()
    assert b"KeyboardInterrupt" in errors
    assert left(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    ("python", "reason"),
    [(None, "No such file"), ("#!/bin/sh\nsleep 0.2\necho no torch here\nexit 1\n", "code 1.*no torch here")],
)
def test_a_server_that_does_not_come_up_says_nothing_of_the_code(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str | None, reason: str
) -> None:
    executable = tmp_path / "python"
    if python is not None:
        executable.write_text(python)
        executable.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(executable))
    request = RunRequest(project / "model.py", project, mode="eval")
    with Server() as server, pytest.raises(NotStarted, match=f"the worker did not start: .*({reason})") as raised:
        run(request, server=server)
    (found,) = raised.value.result.runs
    assert (found.target, found.mode, found.outcome) == ("model.py", "eval", "exited")


def test_what_was_stopped_behind_the_verdict_is_said_of_its_mode_and_once() -> None:
    stage = "counting recompiles (eval)"
    assert (mode_of(stage, ("eval", "train")), mode_of("starting", ("eval", "train"))) == ("eval", "train")
    assert left_out(stage, "timeout", f"no result after 9 s, while {stage}") == f"{stage}: stopped, no result after 9 s"
