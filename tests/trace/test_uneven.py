"""The difference between ranks that a report begins with."""

from __future__ import annotations

from pathlib import Path

from graphdoctor.model.runs import DynamicRun, Recompile
from graphdoctor.trace.files import TraceFile
from graphdoctor.trace.process import Process
from graphdoctor.trace.ranks import Ran
from graphdoctor.trace.uneven import difference

NUMBER = Recompile("a number is no longer 0.2", "___stack0 == 0.2", None, None, "net.py", 17, 3, "pass a tensor")
SIZE = Recompile("the size of h changed", "h.size()[0] == 8", "h", 0, "net.py", 17, 2, "torch.compile(dynamic=True)")


def ran(rank: int, *recompiles: Recompile) -> Ran:
    run = DynamicRun(f"rank {rank}", "train", "cpu", "ok", recompiles=recompiles)
    return Ran(f"rank {rank}", Process(TraceFile(Path("trace.log"), rank), rank), run)


def test_what_both_ranks_do_is_not_what_one_does_alone() -> None:
    other = Recompile("a number is no longer 0.7", "___stack0 == 0.7", None, None, "net.py", 17, 2)
    said = difference([ran(0, other), ran(1, NUMBER, SIZE)])
    assert said.startswith("rank 1 alone compiles net.py:17 again because the size of h changed (2 compilations), and")
    assert said.endswith("; what helps on every rank: torch.compile(dynamic=True)")
    assert difference([ran(0, other), ran(1, NUMBER)]) == ""
