"""What a trace has beside breaks and recompiles."""

from __future__ import annotations

from pathlib import Path

from graphdoctor.model.runs import DynamicRun
from graphdoctor.trace.files import TraceFile
from graphdoctor.trace.notes import FrameTime, notes
from graphdoctor.trace.process import Process
from graphdoctor.trace.ranks import Ran

FORWARD = FrameTime("net.py:3", "Net.forward", 1.5, 2, ("train.py",))
STEP = FrameTime("net.py:9", "step", 0.7, 1, ("train.py",))


def test_the_compile_time_of_one_process_is_told_once() -> None:
    alone = [Ran("train.py", Process(TraceFile(Path("trace.log"), 0), 0), DynamicRun("train.py", "train", "cpu", "ok"))]
    of_forward = "compile time of net.py:3 Net.forward: 1.5 s in 2 compilations"
    assert notes(alone, [FORWARD]) == (of_forward,)
    assert notes(alone, [FORWARD, STEP])[:2] == ("compile time: 2.2 s", of_forward)
