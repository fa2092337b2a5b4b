"""Traces that no torch wrote: a record that holds anything costs itself, and what is no file is refused."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graphdoctor.report.formats import FORMATS, render
from graphdoctor.trace import records
from graphdoctor.trace.diagnose import diagnose
from graphdoctor.trace.files import NoTrace

if TYPE_CHECKING:
    from conftest import Traces

ODD = [
    None,
    True,
    -1,
    0,
    10**9,
    10**400,
    float("nan"),
    float("inf"),
    -1.5,
    "",
    "\x1b[2J\ud800",
    [],
    {},
    [[]],
    {"a": {}},
]


def rendered(folder: Path) -> None:
    diagnosis = diagnose(folder)
    for name in FORMATS:
        shown = render(diagnosis, name)
        shown.encode("utf-8")
        assert not set("\x1b\x00") & set(shown), name


def job(traces: Traces) -> list[bytes]:
    return [
        *traces.start(0, 0, "/job/model.py", 3).splitlines(keepends=True),
        traces.graph_break("/job/model.py", 4),
        traces.record("dynamo_output_graph", {"sizes": {}}, "graph", frame_id=0, frame_compile_id=0, rank=0),
        traces.artifact("recompile_reasons", '["tensor \'x\' size mismatch at index 0. expected 3, actual 4"]'),
        traces.metrics(
            0, 0, entire_frame_compile_time_s=0.5, graph_op_count=3, python_version="3.11", restart_reasons=["a"]
        ),
        traces.metrics(
            1, 0, fail_type="Unsupported", fail_reason="no", fail_user_frame_filename="/job/model.py",
            fail_user_frame_lineno=9,
        ),
        traces.record("bwd_compilation_metrics", {"compile_id": "0/0", "duration_us": 5}),
        traces.record("describe_tensor", {"device": "device(type='cuda', index=0)"}),
        traces.artifact("torch_version", '{"pytorch_version": "2.13.0"}'),
    ]  # fmt: skip


def changed(value: Any, random_: random.Random) -> Any:
    """``value`` with one thing in it replaced, wherever it is."""
    if isinstance(value, (dict, list)) and value and random_.random() < 0.8:
        key = random_.choice(list(value) if isinstance(value, dict) else range(len(value)))
        copy: Any = dict(value) if isinstance(value, dict) else list(value)
        copy[key] = changed(value[key], random_)
        return copy
    return random_.choice(ODD)


def test_a_record_with_anything_changed_costs_itself(traces: Traces) -> None:
    whole = job(traces)
    traces.write(0, *whole)
    rendered(traces.folder)
    for seed in range(150):
        random_ = random.Random(seed)
        number = random_.randrange(len(whole))
        head, _, payload = whole[number].partition(b"\n")
        prefix, _, data = head.partition(b"] ")
        record = prefix + b"] " + json.dumps(changed(json.loads(data), random_)).encode() + b"\n" + payload
        traces.write(0, *whole[:number], record, *whole[number + 1 :])
        try:
            rendered(traces.folder)
        except NoTrace:
            continue


@pytest.mark.parametrize(
    "payload", ["[" * 100_000, "9" * 10_000, "NaN", "[" * 50_000 + "]" * 50_000, "\x1b[2J", '{"pytorch_version": []}']
)
@pytest.mark.parametrize("name", ["torch_version", "recompile_reasons", "dynamo_graph_break_reason"])
def test_a_payload_of_anything_costs_itself(traces: Traces, name: str, payload: str) -> None:
    traces.write(0, *job(traces), traces.artifact(name, payload))
    rendered(traces.folder)


def test_records_that_are_nested_too_deeply_are_malformed(traces: Traces) -> None:
    deep = b'V1121 08:01:33.923000 31001 torch/x.py:1] {"dynamo_start": ' + b"[" * 90_000 + b"]" * 90_000 + b"}\n"
    traces.write(0, *job(traces), deep)
    rendered(traces.folder)


def test_a_small_file_that_unpacks_to_anything_is_read_up_to_the_limit(
    traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "FILE_LIMIT", 32 << 20)
    (traces.folder / "dedicated_log_torch_trace_rank_0_x.log").write_bytes(
        gzip.compress(b"".join(job(traces)) + bytes(200 << 20))
    )
    diagnosis = diagnose(traces.folder)
    assert any("what comes after them is not read" in note for note in diagnosis.notes)
    assert diagnosis.findings


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices as on POSIX")
def test_what_is_no_file_is_refused(traces: Traces) -> None:
    pipe = traces.folder / "dedicated_log_torch_trace_rank_1_x.log"
    os.mkfifo(pipe)
    (traces.folder / "dedicated_log_torch_trace_rank_2_x.log").symlink_to("/dev/zero")
    with pytest.raises(NoTrace, match="has no trace files"):
        diagnose(traces.folder)
    for name in (pipe, Path("/dev/zero")):
        with pytest.raises(NoTrace, match="no regular file"):
            diagnose(name)
    traces.write(0, *job(traces))
    rendered(traces.folder)
