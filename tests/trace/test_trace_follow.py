"""The trace of a job that is still running: the test writes on while it is followed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphdoctor.trace.files import NoTrace
from graphdoctor.trace.follow import follow
from graphdoctor.trace.reading import read_processes

if TYPE_CHECKING:
    from conftest import Traces

NET = "/job/net.py"


def test_what_is_added_is_told_once_and_read_like_the_whole(traces: Traces) -> None:
    said: list[str] = []
    states: list[str] = []
    start, first = traces.start(0, 0, NET, 3), traces.graph_break(NET, 5)
    second = traces.graph_break(NET, 9)

    def job() -> Iterator[None]:
        yield
        file = traces.write(0, start, first)
        yield
        for part in (second[:200], second[200:], first):
            with file.open("ab") as stream:
                stream.write(part)
            yield
        traces.write(1, start, first)
        yield
        with file.open("ab") as stream:
            stream.write(second[:200])

    writing = job()
    next(writing)

    def wait(_seconds: float) -> bool:
        # The last record of a file is taken when nothing comes after it for a while.
        waited.append(1)
        return len(waited) % 3 == 0 and next(writing, writing) is writing

    waited: list[int] = []
    following = follow(traces.folder, wait, said.extend, states.append)
    assert [line.partition(":")[2] for line in said] == [
        f"{line}: breaks the graph: print() is a side effect that cannot be part of a graph ({ranks})"
        for line, ranks in ((5, "rank 0"), (9, "rank 0"), (5, "rank 1"))
    ]
    assert states[0].startswith("waiting for a trace in ")
    assert states[-1] == "following 2 files: 2 compilations so far"
    processes, files = following.end()
    whole, _ = read_processes([process.file for process in processes])
    assert [(p.rank, p.breaks, p.costs, p.tally) for p in processes] == [
        (p.rank, p.breaks, p.costs, p.tally) for p in whole
    ]
    assert processes[0].tally.cut
    assert [file.status for file in files] == ["scanned", "scanned"]


def test_it_ends_where_nothing_comes(tmp_path: Path) -> None:
    following = follow(tmp_path / "none", lambda _seconds: False, lambda _lines: None, lambda _text: None, idle=3)
    with pytest.raises(NoTrace, match="does not exist"):
        following.end()
