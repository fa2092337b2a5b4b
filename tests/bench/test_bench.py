"""The whole command, in real processes, with backends that compile nothing."""

import json
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

NET = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x).relu()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[Block() for _ in range(3)])

    def forward(self, x):
        return self.layers(x)

def graphdoctor_target():
    return Net(), (torch.ones(4, 8),)
"""


#: Three blocks whose eager code takes 24 ms; compiled as a whole 6, block by block 15.
PLANTED = """
import sys
sys.path.append({root!r})
from benchmarks.planted_costs.model import planted

def graphdoctor_target():
    return planted("best")
"""


def bench(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphdoctor", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    made = tmp_path_factory.mktemp("bench")
    (made / "net.py").write_text(NET)
    (made / "planted.py").write_text(PLANTED.format(root=str(root)))
    return made


@pytest.fixture(scope="module")
def trained(folder: Path) -> dict:
    """A training benchmark of a small network, of which it is known what each way of compiling gains."""
    names = "default,regional,optimizer,max-autotune"
    arguments = ["planted.py", "--mode", "train", "--backend", "planted", "--seconds", "0.05", "--strategies", names]
    done = bench(*arguments, "--output-format", "json", "--html", "bench.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "graphdoctor: regional: timing the steady state" in done.stderr
    return json.loads(done.stdout)


def test_each_strategy_is_measured_and_equal_to_eager(trained: dict) -> None:
    results = {result["strategy"]: result for result in trained["results"]}
    for name in ("eager", "default", "regional", "optimizer"):
        assert results[name]["status"] == "ok", results[name]["detail"]
        assert results[name]["timing"]["median"] > 0
        assert results[name]["peak"] > 0
        assert results[name]["equal"] is True
    assert results["default"]["cold"] > 0 and results["default"]["warm"] > 0
    assert results["max-autotune"]["detail"] == "needs the backend inductor"


def test_the_verdict_is_the_planted_one_with_the_numbers_of_the_table(trained: dict) -> None:
    results, verdict = {result["strategy"]: result for result in trained["results"]}, trained["verdict"]
    # The optimizer takes next to nothing, compiled or not.
    assert verdict["best"] in ("default", "optimizer") and verdict["worth"] is True
    best, eager = results[verdict["best"]], results["eager"]["timing"]["median"]
    assert verdict["speedup"] == eager / best["timing"]["median"]
    assert verdict["steps"] == math.ceil(best["cold"] / (eager - best["timing"]["median"]))
    assert verdict["steps"] > 0 and f"{verdict['speedup']:.2f} times as fast" in verdict["sentence"]


def test_the_graphs_are_counted(trained: dict) -> None:
    graphs = {result["strategy"]: result["compilations"] for result in trained["results"]}
    assert graphs["default"] == 1
    # The input of the first block needs no gradient; the two others share a graph.
    assert graphs["regional"] == 2
    assert graphs["optimizer"] > graphs["default"]


def test_the_page_has_plots_and_asks_no_server(trained: dict, folder: Path) -> None:
    page = (folder / "bench.html").read_text()
    assert page.count('role="img"') == 2
    assert page.count('class="bar') == sum(bool(r["timing"]) + 2 * bool(r["cold"]) for r in trained["results"])
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_was_measured(folder: Path, sent: signal.Signals) -> None:
    # Compiled, it does not come to an end before the signal.
    wait = "        if torch.compiler.is_compiling():\n            __import__('time').sleep(3600)\n"
    (folder / "waits.py").write_text(NET.replace("        return self.layers", wait + "        return self.layers"))
    command = [sys.executable, "-m", "graphdoctor", "bench", "waits.py", "--backend", "eager", "--seconds", "0.05"]
    with subprocess.Popen(
        [*command, "--output-format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        assert process.stderr is not None
        # By then eager is complete, and the next strategy has begun.
        for line in process.stderr:
            if "default: first calls" in line:
                break
        os.kill(process.pid, sent)
        output, _ = process.communicate()
    found = json.loads(output)
    assert process.returncode == 130
    assert found["ended"] == "interrupted"
    assert [(r["strategy"], r["status"]) for r in found["results"]] == [("eager", "ok"), ("default", "interrupted")]
    assert found["results"][0]["timing"]["median"] > 0


def test_what_no_time_is_left_for_is_named(folder: Path) -> None:
    (folder / "hangs.py").write_text("import time\n\ntime.sleep(60)\n")
    done = bench("hangs.py", "--backend", "eager", "--strategies", "default", "--time-limit", "2", cwd=folder)
    assert done.returncode == 2
    assert "eager: out of time after 2 s" in done.stdout
    assert "default: not run: out of time" in done.stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [("x = 1\n", "no sample input: define "), ("def graphdoctor_target():\n    1 / 0\n", "ZeroDivisionError while ")],
)
def test_where_there_is_no_model_the_reason_is_all(folder: Path, text: str, reason: str) -> None:
    (folder / "none.py").write_text(text)
    done = bench("none.py", "--strategies", "default", "--output-format", "json", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"graphdoctor: {reason}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py"], "missing.py is not a file"),
        (["net.py", "--strategies", "fast"], "there is no strategy 'fast'"),
        (["net.py", "--input", "float31[2]"], "float31"),
        (["net.py", "--html", "none/b.html"], "the folder none does not exist"),
    ],
)
def test_bad_input_gets_one_line(folder: Path, arguments: list[str], message: str) -> None:
    done = bench(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
