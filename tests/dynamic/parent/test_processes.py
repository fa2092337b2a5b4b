import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from graphdoctor.dynamic.parent.processes import MARKER, Tree

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the tree is read from /proc")

#: Starts a child in its own session, prints its id, and waits.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); print(1, flush=True); time.sleep(3600)"],
                         stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
{end}
"""


def start(end: str) -> tuple[subprocess.Popen[str], Tree, int]:
    marker = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(end=end)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, MARKER: marker},
    )
    assert process.stdout is not None
    return process, Tree(process.pid, marker), int(process.stdout.readline())


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_child_in_its_own_session_belongs_to_the_tree_and_dies_with_it() -> None:
    process, tree, child = start("time.sleep(3600)")
    assert {process.pid, child} <= {p.pid for p in tree.members()}
    assert tree.resident() > 1 << 20
    tree.kill()
    assert process.wait() == -signal.SIGKILL
    assert gone(child)


def test_an_orphan_is_found_by_its_marker() -> None:
    process, tree, child = start("")
    process.wait()
    assert child in {p.pid for p in tree.members()}
    tree.kill()
    assert gone(child)


def test_who_comes_after_the_first_look_is_found_by_its_marker() -> None:
    nobody = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    tree = Tree(nobody, marker := uuid.uuid4().hex)
    assert tree.members() == []
    late = subprocess.Popen(
        [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(3600)"],
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, MARKER: marker},
    )
    assert late.stdout is not None and late.stdout.readline()
    assert [p.pid for p in tree.members()] == [late.pid]
    late.kill()
    late.wait()


def test_strangers_are_left_alone() -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    process, tree, _ = start("time.sleep(3600)")
    try:
        members = {p.pid for p in tree.members()}
        assert stranger.pid not in members
        assert os.getpid() not in members
        tree.kill()
        assert process.wait() == -signal.SIGKILL
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
