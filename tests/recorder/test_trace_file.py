"""The trace that the recorder writes is one that the reader of traces takes."""

from __future__ import annotations

import io
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from graphdoctor.recorder.trace_file import KEPT, TraceFile
from graphdoctor.trace.files import TraceFile as TraceFileOf
from graphdoctor.trace.files import find
from graphdoctor.trace.process import Process, Reader, read
from graphdoctor.trace.records import Tally, records


def log(handler: TraceFile, metadata: dict[str, Any], payload: str | None = None) -> None:
    record = logging.LogRecord("torch.__trace", logging.DEBUG, "", 1, "", None, None)
    record.__dict__.update(metadata=metadata, payload=payload)
    handler.handle(record)


def test_what_the_reader_takes_is_kept() -> None:
    reader = Reader(Process(TraceFileOf(Path("trace.log"), None), None), {})
    assert {name for name in reader.handlers if not name.startswith("graphdoctor_")} == KEPT


@pytest.mark.parametrize("of_ranks", [False, True])
def test_guards_are_kept_of_the_ranks_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_ranks: bool) -> None:
    monkeypatch.delenv("RANK", raising=False)
    if of_ranks:
        monkeypatch.setenv("RANK", "0")
    handler = TraceFile(str(tmp_path))
    log(handler, {"str": ["/job/train.py", 10_000]})
    log(handler, {"dynamo_cpp_guards_str": {}}, "L['n'] == 3  # if n == 3:  # train.py:7 in f")
    [file] = find(tmp_path)
    assert {value.name for value in read(file, {}).guarded} == ({"n"} if of_ranks else set())


def test_records_come_back(tmp_path: Path) -> None:
    handler = TraceFile(str(tmp_path))
    log(handler, {"str": ["/job/train.py", 10_000]})
    log(handler, {"inductor_output_code": {"filename": "x"}}, "code\n" * 1000)
    start = {"stack": [{"line": 3, "name": "forward", "filename": 10_000}]}
    log(handler, {"dynamo_start": start, "frame_id": 0, "frame_compile_id": 0})
    handler.traced["/job/train.py"] = {4, 5}
    handler.last["/job/train.py"] = 5
    failed = {"fail_type": "AttributeError", "fail_reason": "no such attribute", "co_filename": "/job/train.py"}
    inside = {"fail_user_frame_filename": "/usr/lib/python3.11/inspect.py", "fail_user_frame_lineno": 9}
    metrics = {"graph_op_count": 2, **failed, **inside}
    log(handler, {"compilation_metrics": metrics, "frame_id": 0, "frame_compile_id": 0})
    handler.note("graphdoctor_trains", {})
    [file] = find(tmp_path)
    process = read(file, {})
    [event] = process.breaks
    assert event.message == "compiling fails with AttributeError: no such attribute"
    assert [(frame.path, frame.line) for frame in event.traced] == [
        ("/job/train.py", 5),
        ("/usr/lib/python3.11/inspect.py", 9),
    ]
    assert process.trains
    assert process.traced == {"/job/train.py": {4, 5}}
    assert [(code.path, code.line, cost.compilations) for code, cost in process.costs.items()] == [
        ("/job/train.py", 3, 1)
    ]
    assert (process.tally.malformed, process.tally.cut) == (0, False)
    assert '"code"' not in file.path.read_text()


def test_payload_of_several_lines_comes_back(tmp_path: Path) -> None:
    handler = TraceFile(str(tmp_path))
    log(handler, {"artifact": {"name": "dynamo_graph_break_reason"}}, "first\n\tsecond\n\nlast")
    [file] = find(tmp_path)
    [record] = records(io.BytesIO(file.path.read_bytes()), {"dynamo_graph_break_reason"}, Tally())
    assert record.payload == "first\n\tsecond\n\nlast"


def test_fork_writes_a_file_of_its_own(tmp_path: Path) -> None:
    handler = TraceFile(str(tmp_path))
    log(handler, {"str": ["/job/a.py", 10_000]})
    child = os.fork()
    if child == 0:
        log(handler, {"str": ["/job/b.py", 10_001]})
        os._exit(0)
    os.waitpid(child, 0)
    assert len(find(tmp_path)) == 2


def test_folder_that_is_gone_costs_only_the_recording(tmp_path: Path) -> None:
    handler = TraceFile(str(tmp_path / "absent"))
    logger = logging.getLogger("torch.__trace")
    logger.addHandler(handler)
    log(handler, {"str": ["/job/a.py", 10_000]})
    assert handler not in logger.handlers


class Inner(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x * 2


class Outer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x + 1)


def test_the_frames_of_a_graph_break_are_read_from_dynamo(tmp_path: Path) -> None:
    """Torch's text has one ``forward`` of the two: where this fails, torch keeps the stack of a break elsewhere."""
    handler, trace = TraceFile(str(tmp_path)), logging.getLogger("torch.__trace")
    trace.addHandler(handler)
    torch._dynamo.reset()
    try:
        torch.compile(Outer(), backend="eager")(torch.rand(2))
    finally:
        trace.removeHandler(handler)
        torch._dynamo.reset()
    [file] = find(tmp_path)
    every = records(io.BytesIO(file.path.read_bytes()), {"graphdoctor_traced_frames"}, Tally())
    frames = json.loads(next(iter(every)).payload)
    first = [line.strip() for line in Path(__file__).read_text().splitlines()]
    lines = [first.index(text) + 1 for text in ("return self.inner(x + 1)", "torch._dynamo.graph_break()")]
    assert [(path, line, name) for path, line, _, name in frames] == [(__file__, line, "forward") for line in lines]
    assert [column for _, _, column, _ in frames] in ([8, 1], [None, None])


def in_loop(x: torch.Tensor) -> torch.Tensor:
    for _ in range(2):
        torch._dynamo.graph_break()
        x = x + 1
    return x


def test_a_function_that_is_given_up_for_its_loop_is_recorded_as_such(tmp_path: Path) -> None:
    """Since torch 2.11 the text of the break says it; before, the recorder asks Dynamo."""
    handler, trace = TraceFile(str(tmp_path)), logging.getLogger("torch.__trace")
    trace.addHandler(handler)
    torch._dynamo.reset()
    try:
        torch.compile(in_loop, backend="eager")(torch.rand(2))
    finally:
        trace.removeHandler(handler)
        torch._dynamo.reset()
    (file,) = find(tmp_path)
    assert {found.kind for found in read(file, {}).breaks} == {"skip"}
