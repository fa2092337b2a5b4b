"""One worker process for many requests: forks do not see each other, and a dead one costs nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from graphdoctor.dynamic.parent.runner import RunRequest, Server, run

SOURCE = """\
import torch

torch.graphdoctor_loads = getattr(torch, "graphdoctor_loads", 0) + 1


def net(x):
    return x * torch.graphdoctor_loads


def graphdoctor_target():
    return net, (torch.ones(2),)
"""


def test_requests_run_in_forks_of_one_process(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    common = {"root": tmp_path, "reference": tmp_path / "reference", "recompiles": False}
    request = RunRequest(file, mode="eval", deeper=False, **common)  # type: ignore[arg-type]
    dying = RunRequest(
        file,
        mode="eval",
        overlay={str(file): "import os\nprint('bye', flush=True)\nos._exit(3)\n"},
        **common,  # type: ignore[arg-type]
    )
    raising = RunRequest(file, mode="eval", overlay={str(file): "raise ValueError('no')\n"}, **common)  # type: ignore[arg-type]
    again = RunRequest(file, mode="eval", compare=True, deeper=False, **common)  # type: ignore[arg-type]
    with Server() as server:
        process = server.start()
        (first,) = run(request, server=server).runs
        (dead,) = run(dying, server=server).runs
        (raised,) = run(raising, server=server).runs
        (second,) = run(again, server=server).runs
        assert server._process is process
    assert first.outcome == second.outcome == "ok"
    assert (dead.outcome, "code 3" in dead.detail, '"bye"' in dead.detail) == ("exited", True, True)
    assert (raised.outcome, raised.detail) == ("raised", "ValueError at import: no (net.py:1 in <module>)")
    # The last run counts one import too, and gives what the first one gave.
    assert second.numerics is not None and second.numerics.equal is True
    assert process.popen.poll() is not None


HANGS = """\
import os, pathlib, signal, subprocess, sys, time

{first}
child = subprocess.Popen(["sleep", "3600"], env={{}}, start_new_session=True)
pathlib.Path({folder!r}, "child").write_text(str(child.pid))
print("hanging", flush=True)
time.sleep(3600)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found by /proc")
@pytest.mark.parametrize(("first", "stays"), [("", True), ("os.kill(os.getppid(), signal.SIGSTOP)", False)])
def test_a_request_that_hangs_ends_with_its_children_and_the_server_stays_if_it_answers(
    tmp_path: Path, first: str, stays: bool
) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    common = {"root": tmp_path, "reference": tmp_path / "reference", "recompiles": False}
    text = HANGS.format(first=first, folder=str(tmp_path))
    hanging = RunRequest(file, mode="eval", overlay={str(file): text}, timeout=4, **common)  # type: ignore[arg-type]
    dying = RunRequest(file, mode="eval", overlay={str(file): "import os\nos._exit(3)\n"}, **common)  # type: ignore[arg-type]
    with Server() as server:
        # A first request has the server up, so that the limit of the second one is spent by its code.
        run(dying, server=server)
        process = server.start()
        (hung,) = run(hanging, server=server).runs
        child = int((tmp_path / "child").read_text())
        assert hung.outcome == "timeout"
        assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2]
        (dead,) = run(dying, server=server).runs
        assert (server._process is process) is stays
    # What the other one had printed is not taken for its last words.
    assert (dead.outcome, "code 3" in dead.detail, "hanging" in dead.detail) == ("exited", True, False)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the environment is read from /proc")
@pytest.mark.parametrize(("own", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_wait_without_spinning_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, own: str | None, expected: str
) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if own is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", own)
    with Server() as server:
        file = Path(f"/proc/{server.start().popen.pid}/environ")
        # The kernel shows nothing while the program is being started.
        while not (environment := file.read_text()):
            time.sleep(0.01)
    assert f"OMP_WAIT_POLICY={expected}" in environment.split("\0")
