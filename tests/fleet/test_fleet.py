"""The whole command in real processes, which only read: what kills, hangs and crashes are rules that a scan executes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from threading import Event

import pytest

NET = """
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return x + 1
"""
BREAKS = NET.replace("        return", "        print(x)\n        return")
LIST = """targets = [
    "net.py",
    {name = "crashes", scan = "net.py --rules crash"},
    {name = "hangs", scan = "net.py --rules hang"},
    "missing.py",
]"""

Fleet = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fleet")
    (made / "net.py").write_text(NET)
    (made / "list.toml").write_text(LIST)
    for name, text in {
        "crash": "import os, signal\n\nos.kill(os.getpid(), signal.SIGSEGV)\n",
        "hang": "import os, time\n\nheld = b'x' * (400 << 20)\nopen('pid', 'w').write(f'{os.getpid()}\\n')\ntime.sleep(3600)\n",
    }.items():
        (made / name).mkdir()
        (made / name / "rule.py").write_text(text)
    return made


@pytest.fixture(scope="module")
def fleet(graphdoctor: Callable[..., CompletedProcess[str]], folder: Path) -> Fleet:
    def run(*arguments: str) -> CompletedProcess[str]:
        return graphdoctor("fleet", *arguments, "--", "--no-run", cwd=folder)

    return run


@pytest.fixture(scope="module")
def resumed(folder: Path, fleet: Fleet) -> CompletedProcess[str]:
    """What the second run says, after the first one was killed while a target of it hung."""
    command = [sys.executable, "-m", "graphdoctor", "fleet", "list.toml", "--jobs", "2", "--output", "first"]
    with subprocess.Popen([*command, "--", "--no-run"], stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "3 of 4" in line:
                break
        pid = _written(folder / "pid")
        process.send_signal(signal.SIGKILL)
    # The kernel ends the worker with its parent.
    while _runs(pid):
        Event().wait(0.05)
    return fleet("list.toml", "--output", "first", "--limit", "2")


def _written(file: Path) -> int:
    while not (file.exists() and file.read_text().endswith("\n")):
        Event().wait(0.05)
    return int(file.read_text())


def _runs(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the death of a parent is told on Linux alone")
def test_after_a_kill_only_what_has_no_result_is_scanned(resumed: CompletedProcess[str], folder: Path) -> None:
    assert resumed.returncode == 0
    assert "1 of 1: hangs: timeout: stopped after 2 s" in resumed.stderr
    assert resumed.stdout.splitlines()[0] == "4 targets: 1 static-only, 1 failed, 1 timeout, 1 crashed"
    assert "  crashes: crashed; killed by SIGSEGV" in resumed.stdout
    assert "  missing.py: failed; missing.py: no such file or folder" in resumed.stdout
    with closing(sqlite3.connect(folder / "first/fleet.sqlite")) as connection:
        rows = dict(connection.execute("select name, outcome from results"))
    assert rows == {"net.py": "done", "crashes": "crashed", "hangs": "timeout", "missing.py": "failed"}


def test_the_page_links_to_the_report_of_each_target(resumed: CompletedProcess[str], folder: Path) -> None:
    page = (folder / "first/index.html").read_text()
    (report,) = (folder / "first/reports").iterdir()
    assert f'<a href="reports/{report.name}">net.py</a>' in page
    assert page.count("<tr data-state=") == 4


def test_what_got_worse_and_better_since_an_earlier_fleet(
    resumed: CompletedProcess[str], folder: Path, fleet: Fleet
) -> None:
    (folder / "net.py").write_text(BREAKS)
    (folder / "two.toml").write_text('targets = ["net.py", {name = "crashes", scan = "net.py"}, "hang/rule.py"]')
    worse = fleet("two.toml", "--output", "second", "--against", "first", "--fail-on", "worse")
    assert worse.returncode == 1
    assert worse.stdout.splitlines() == [
        "3 targets: 3 static-only; against first: 1 worse, 1 better, 1 new",
        "",
        "Worse:",
        "  net.py: static-only; 1 new error; net.py:6 GD101",
    ]
    (folder / "net.py").write_text(NET)
    better = fleet("two.toml", "--output", "second", "--against", "second", "--fail-on", "worse")
    assert (better.returncode, better.stdout) == (
        0,
        "3 targets: 3 static-only; against second: 2 better, 1 same\n",
    )


def test_what_failed_is_scanned_again_when_asked_for(resumed: CompletedProcess[str], fleet: Fleet) -> None:
    again = fleet("list.toml", "--output", "first", "--again", "failed", "--memory", "300", "--fail-on", "failed")
    assert again.returncode == 1
    assert again.stderr.count(" of 3: ") == 3
    assert "3 of 3: missing.py" in again.stderr
    assert "hangs: memory; stopped at " in again.stdout and "more than 300 MiB" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.toml"], "none.toml: no such file or folder"),
        (["list.toml", "--fail-on", "worse"], "needs an earlier fleet"),
        (["list.toml", "--against", "crash"], "crash: there is no fleet"),
    ],
)
def test_bad_input_gets_one_line(fleet: Fleet, arguments: list[str], message: str) -> None:
    done = fleet(*arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert message in done.stderr
