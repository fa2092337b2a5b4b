"""Which measurements include a compilation."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import sys
import time

import torch


def g(x):
    return x * 2


compiled = torch.compile(g{options})
start = time.perf_counter()
compiled(torch.rand(4))
print(time.perf_counter() - start)
"""


@pytest.mark.parametrize(
    ("options", "found"),
    [("", ["GD623"]), (", disable=False", ["GD623"]), (", disable=True", []), (", disable='-c' not in sys.argv", [])],
)
def test_a_switch_that_is_not_known_may_leave_it_uncompiled(tmp_path: Path, options: str, found: list[str]) -> None:
    file = tmp_path / "measure.py"
    file.write_text(SOURCE.format(options=options))
    assert [f.rule for f in analyse([(file, "measure.py")]).findings] == found


EVENTS = """\
import torch

model = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8)).cuda())
start = torch.cuda.Event(enable_timing=True)
end = torch.cuda.Event(enable_timing=True)


def timed(run):
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


{before}
print(timed(lambda: model(torch.rand(4, 8, device="cuda"))))
"""


@pytest.mark.parametrize(("name", "found"), [("latency", ["GD623"]), ("first_call_time", []), ("compile_time", [])])
def test_a_function_may_say_that_it_measures_the_first_call(tmp_path: Path, name: str, found: list[str]) -> None:
    file = tmp_path / "measure.py"
    head, _, body = SOURCE.format(options="").partition("compiled = ")
    lines = f"compiled = {body}".replace("print(", "return (").splitlines()
    file.write_text(f"{head}\n\ndef {name}():\n" + "".join(f"    {line}\n" for line in lines))
    assert [f.rule for f in analyse([(file, "measure.py")]).findings] == found


@pytest.mark.parametrize(("before", "found"), [("", ["GD623"]), ("model(torch.rand(4, 8, device='cuda'))", [])])
def test_events_of_the_gpu_are_a_clock_that_waits(tmp_path: Path, before: str, found: list[str]) -> None:
    file = tmp_path / "measure.py"
    file.write_text(EVENTS.format(before=before))
    assert [f.rule for f in analyse([(file, "measure.py")]).findings] == found


@pytest.mark.parametrize(
    ("label", "found"),
    [("compiled", ["GD623"]), ("compile time", []), ("compilation took", []), ("first call", []), ("ms", ["GD623"])],
)
def test_a_label_that_speaks_of_compiling_says_what_is_measured(tmp_path: Path, label: str, found: list[str]) -> None:
    file = tmp_path / "measure.py"
    file.write_text(SOURCE.format(options="").replace("print(", f"print({label!r}, "))
    assert [f.rule for f in analyse([(file, "measure.py")]).findings] == found


HARNESS = """\
import time

import torch
from lab import {harness}


class Case:
    def __init__(self):
        self.g = torch.compile(torch.sin)

    def run(self):
        start = time.perf_counter()
        self.g(torch.rand(3))
        return time.perf_counter() - start


def main():
    case = Case()
    return {harness}(case.run)
"""


@pytest.mark.parametrize(("harness", "found"), [("benchmark", []), ("measure_all", []), ("launch", ["GD623"])])
def test_a_harness_that_measures_a_function_may_warm_it_up(tmp_path: Path, harness: str, found: list[str]) -> None:
    file = tmp_path / "case.py"
    file.write_text(HARNESS.format(harness=harness))
    assert [f.rule for f in analyse([(file, "case.py")]).findings] == found


OWN_HARNESS = """\
def {harness}(fn):
    return fn()
"""


@pytest.mark.parametrize(("harness", "found"), [("benchmark", []), ("launch", ["GD623"])])
def test_a_harness_of_the_project_may_warm_it_up_too(tmp_path: Path, harness: str, found: list[str]) -> None:
    (tmp_path / "lab.py").write_text(OWN_HARNESS.format(harness=harness))
    file = tmp_path / "case.py"
    file.write_text(HARNESS.format(harness=harness))
    assert [f.rule for f in analyse([(file, "case.py")]).findings] == found


SHOWN = """\
import time

import torch

compiled = torch.compile(torch.sin)
start = time.time()
compiled(torch.rand(4))
elapsed = time.time() - start
print(f"{text}: {{elapsed:.2f}} s")
"""


@pytest.mark.parametrize(("text", "found"), [("first call", []), ("cold start", []), ("mean time", ["GD623"])])
def test_what_is_printed_says_what_was_measured(tmp_path: Path, text: str, found: list[str]) -> None:
    file = tmp_path / "measure.py"
    file.write_text(SHOWN.format(text=text))
    assert [f.rule for f in analyse([(file, "measure.py")]).findings] == found


REPEATED = """\
import time

import torch


def bench(run, times):
    start = time.perf_counter()
    for _ in range(times):
        run(torch.rand(4))
    {end}


fast = torch.compile(torch.sin)
{warm}
print(bench(fast, 100))
"""

GIVEN_BACK = "return (time.perf_counter() - start) / times"
NAMED = "mean = (time.perf_counter() - start) / times\n    return mean"
ON_A_LINE = "torch.cuda.synchronize(); mean = (time.perf_counter() - start) / times\n    return {'ms': mean * 1000}"
SHOWN_TOO = "mean = (time.perf_counter() - start) / times\n    print(mean)\n    return mean"


@pytest.mark.parametrize(
    ("warm", "end", "found"),
    [
        ("_ = bench(fast, 10)", GIVEN_BACK, []),
        ("bench(fast, 10)", NAMED, []),
        ("bench(fast, 10)", ON_A_LINE, []),
        ("bench(fast, 10)", SHOWN_TOO, ["GD623"]),
        ("mean = bench(fast, 10)", GIVEN_BACK, ["GD623"]),
        ("_ = bench(torch.sin, 10)", GIVEN_BACK, ["GD623"]),
        ("best = min(bench(fast, 10) for _ in range(3))", GIVEN_BACK, []),
    ],
)
def test_a_timed_call_whose_result_is_dropped_is_the_warm_up(
    tmp_path: Path, warm: str, end: str, found: list[str]
) -> None:
    file = tmp_path / "measure.py"
    file.write_text(REPEATED.format(warm=warm, end=end))
    assert [f.rule for f in analyse([(file, "measure.py")]).findings] == found


WHOLE_RUN = """\
import time

import torch


def main(fabric, net, batches):
    model = torch.compile(net)
    start = time.perf_counter()
    for batch in batches:
        model(batch)
    {inside}
    fabric.print(time.perf_counter() - start)
"""


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        ("fabric.print('done')", []),
        ("fabric.save('net.pt', net)", []),
        ("save_checkpoint(net)", []),
        ("logger.error('done')", []),
        ("torch.log(batches[0])", ["GD623"]),
        ("batches.close()", ["GD623"]),
    ],
)
def test_what_reports_or_saves_is_a_whole_run(tmp_path: Path, inside: str, found: list[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(WHOLE_RUN.format(inside=inside))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found


TRAINING = """\
import time

import torch


def main(net, optimizer, batches):
    model = torch.compile(net)
    start = time.perf_counter()
    for batch in batches:
        model(batch).sum().backward()
        optimizer.step()
    {shown}
"""


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("print(f'training took {time.perf_counter() - start:.1f} s')", []),
        ("took = time.perf_counter() - start\n    print(took)", []),
        ("print((time.perf_counter() - start) / len(batches))", ["GD623"]),
        ("took = time.perf_counter() - start\n    print(len(batches) / took)", ["GD623"]),
    ],
)
def test_the_total_of_a_training_is_no_measurement_of_its_steps(tmp_path: Path, shown: str, found: list[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(TRAINING.format(shown=shown))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found
