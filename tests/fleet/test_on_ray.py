"""A fleet on a Ray cluster of two nodes, one of which is killed in the middle. Needs the extra ``ray``."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from threading import Event

import pytest

from graphdoctor.fleet.store import existing

NET = "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        print(x)\n        return x + 1\n"
#: A rule that waits, and says in which process.
WAIT = """
import os, pathlib, time

with open("started", "a") as file:
    file.write(f"{os.getpid()}\\n")
while not pathlib.Path("go").exists():
    time.sleep(0.05)
"""
LIST = """targets = [
    {name = "first", scan = "net.py --rules wait"},
    {name = "second", scan = "net.py --rules wait"},
    {name = "third", scan = "net.py"},
    "missing.py",
]"""


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_one_line_says_what_to_install(
    graphdoctor: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "list.toml").write_text(LIST)
    done = graphdoctor("fleet", "list.toml", "--ray", "local", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "graphdoctor: --ray needs ray, which is not installed here: pip install 'graphdoctor[ray]'"
    ]


def test_what_a_lost_node_had_is_scanned_on_another(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(root))
    for name, text in {"net.py": NET, "list.toml": LIST, "wait/rule.py": WAIT}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        lost = cluster.add_node(num_cpus=1)
        command = [sys.executable, "-m", "graphdoctor", "fleet", "list.toml", "--output", "out"]
        with subprocess.Popen([*command, "--ray", cluster.address, "--", "--no-run"], cwd=tmp_path) as fleet:
            while _started(tmp_path) < 2:
                Event().wait(0.1)
            cluster.remove_node(lost, allow_graceful=False)
            (tmp_path / "go").touch()
            assert fleet.wait() == 0
    finally:
        cluster.shutdown()
    results = existing(tmp_path / "out")
    assert {name: (r.outcome, r.summary.errors if r.summary else None) for name, r in results.items()} == {
        "first": ("done", 1),
        "second": ("done", 1),
        "third": ("done", 1),
        "missing.py": ("failed", None),
    }
    # That of the lost node twice.
    assert _started(tmp_path) == 3
    assert len(list((tmp_path / "out/reports").iterdir())) == 3


def _started(folder: Path) -> int:
    return len(set((folder / "started").read_text().splitlines())) if (folder / "started").exists() else 0
