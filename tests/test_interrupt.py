"""Ctrl-C costs what was not done yet; signals that end the process leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan
from graphdoctor.interrupt import Interrupts
from graphdoctor.model.findings import Diagnosis
from graphdoctor.target_torch.installed import torch_available

NEEDS_TORCH = pytest.mark.skipif(torch_available() is None, reason="needs torch")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")

BREAKS = "import torch\n\n\n@torch.compile\ndef f(x):\n    print('forward')\n    return x + 1\n"
SAMPLE = "\n\ndef graphdoctor_target():\n    return f, (torch.ones(3),)\n"
#: Says that it runs, leaves a process, and takes for ever.
SLOW = (
    "import os, subprocess, time\n"
    + BREAKS.replace("print(", "open(os.environ['STARTED'], 'w').close(); time.sleep(100); print(")
    + "\n\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    + SAMPLE
)


def interrupted_at(activity: str, options: ScanOptions, listen: bool = True) -> tuple[Diagnosis, bool]:
    """A scan that gets a Ctrl-C when it says that it does ``activity``."""
    interrupts = Interrupts()

    def progress(text: str) -> None:
        if activity in text and not interrupts.requested:
            os.kill(os.getpid(), signal.SIGINT)

    with interrupts.listening():
        diagnosis = scan(options, progress, interrupts=interrupts)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return diagnosis, interrupts.requested


@pytest.mark.parametrize("jobs", [1, 2])
def test_while_files_are_read(tmp_path: Path, jobs: int) -> None:
    for name in "abcdef":
        (tmp_path / f"{name}.py").write_text(BREAKS)
    diagnosis, requested = interrupted_at(
        "reading 6 files: 2", ScanOptions(paths=(str(tmp_path),), jobs=jobs, isolated=True)
    )
    assert requested
    states = [file.status for file in diagnosis.files]
    assert states.count("scanned") == 2 and states.count("failed") == 4
    assert {file.reason for file in diagnosis.files} == {None, "was not read: interrupted"}
    assert len(diagnosis.findings) == 2
    assert "4 files could not be read" in diagnosis.summary.headline


@NEEDS_TORCH
@pytest.mark.parametrize(
    ("activity", "note", "ran"),
    [
        ("importing", "interrupted while the code was run", False),
        ("verifying", "fixes not verified: interrupted", True),
    ],
)
def test_while_code_runs_nothing_is_written(tmp_path: Path, activity: str, note: str, ran: bool) -> None:
    file = tmp_path / "user.py"
    file.write_text(BREAKS + SAMPLE)
    diagnosis, requested = interrupted_at(activity, ScanOptions(paths=(str(file),), fix=True, isolated=True))
    assert requested
    assert [finding.rule for finding in diagnosis.findings] == ["GD101"]
    assert (diagnosis.dynamic is not None) == ran
    assert any(note in text for text in diagnosis.notes)
    assert "fixed: nothing; interrupted" in diagnosis.notes
    assert file.read_text() == BREAKS + SAMPLE


@NEEDS_TORCH
@pytest.mark.parametrize("text", [BREAKS, BREAKS.replace("print('forward')", "pass")], ids=["with a fix", "clean"])
def test_behind_the_verdict_it_is_kept(tmp_path: Path, text: str) -> None:
    file = tmp_path / "user.py"
    file.write_text(text + SAMPLE)
    diagnosis, requested = interrupted_at("counting recompiles", ScanOptions(paths=(str(file),), isolated=True))
    assert requested
    assert [(run.mode, run.outcome) for run in diagnosis.dynamic or ()] == [("eval", "ok")]
    assert diagnosis.summary.breaks == text.count("print")
    assert diagnosis.environment["device"]
    assert "interrupted after the verdict: recompiles were not counted" in diagnosis.notes
    assert "fixes not verified: interrupted" not in diagnosis.notes


def test_while_the_user_is_asked_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(BREAKS)
    interrupts = Interrupts()

    def choose(findings: object) -> tuple[()]:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
        return ()

    with interrupts.listening():
        scan(ScanOptions(paths=(str(file),), fix=True, isolated=True, run=False), choose=choose, interrupts=interrupts)
    assert interrupts.requested
    assert file.read_text() == BREAKS


def test_the_second_ctrl_c_ends_everything() -> None:
    interrupts = Interrupts()
    with interrupts.listening():
        interrupts.hold()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_nothing_is_taken_over_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(BREAKS)

    def progress(text: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        scan(ScanOptions(paths=(str(tmp_path),), isolated=True), progress)


@NEEDS_TORCH
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_command_that_ends_leaves_nothing(tmp_path: Path, number: int, code: int) -> None:
    file, started, temporary = tmp_path / "user.py", tmp_path / "started", tmp_path / "tmp"
    file.write_text(SLOW)
    temporary.mkdir()
    marker = uuid.uuid4().hex
    child = subprocess.Popen(
        [sys.executable, "-m", "graphdoctor", "scan", str(file)],
        env={**os.environ, "TMPDIR": str(temporary), "STARTED": str(started), "GRAPHDOCTOR_TEST_RUN": marker},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Under nohup it would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    wait_for(started.exists)
    child.send_signal(number)
    out, err = child.communicate()
    # What the source shows was said before the code ran.
    said = [line for line in err.splitlines() if not line.startswith(("graphdoctor: static", "  user.py:7: "))]
    assert (child.returncode, said) == (code, [])
    assert ("GD101" in out) == (number == signal.SIGINT)
    assert list(temporary.iterdir()) == []
    wait_for(lambda: marked(marker) == [])


def test_a_language_server_ends_at_once() -> None:
    pytest.importorskip("pygls")
    server = subprocess.Popen(
        [sys.executable, "-m", "graphdoctor", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    body = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}'
    server.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    server.stdin.flush()
    assert server.stdout.readline().startswith(b"Content-Length")
    server.send_signal(signal.SIGTERM)
    assert server.wait() == -signal.SIGTERM


def test_a_working_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    folder, file = tmp_path / "gone", tmp_path / "user.py"
    file.write_text(BREAKS)
    folder.mkdir()
    code = f"import os, sys; os.chdir({str(folder)!r}); os.rmdir({str(folder)!r}); from graphdoctor.cli import main; "
    done = subprocess.run(
        [sys.executable, "-c", code + f"main(['scan', {str(file)!r}])"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "graphdoctor: the working folder cannot be used: No such file or directory; change to one that exists"
    ]


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def marked(marker: str) -> list[str]:
    """The processes whose environment holds ``marker`` (Linux /proc)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found
