from __future__ import annotations

import io
import json
import tracemalloc
from typing import TYPE_CHECKING

from graphdoctor.trace.records import LINE_LIMIT, PAYLOAD_LIMIT, Record, Tally, records

if TYPE_CHECKING:
    from conftest import Traces


def read(data: bytes, *wanted: str) -> tuple[list[Record], Tally]:
    tally = Tally()
    return list(records(io.BytesIO(data), wanted, tally)), tally


def test_payloads_belong_to_the_record_above_them(traces: Traces) -> None:
    data = traces.record("dynamo_start", {"stack": []}) + traces.artifact("a", "one\n\ttwo") + traces.artifact("b", "x")
    found, tally = read(data, "dynamo_start", "a")
    assert [(record.name, record.payload) for record in found] == [("dynamo_start", ""), ("a", "one\n\ttwo")]
    assert (tally.records, tally.malformed, tally.cut) == (3, 0, False)


def test_malformed_and_unknown_records_are_counted_and_passed_over(traces: Traces) -> None:
    data = (
        b"some other program wrote this\n"
        + traces.record("sparkles", {"a": 1}, "payload")
        + traces.record("dynamo_start")[:-3]
        + b"\n"
        + b"V1121 08:01:33.923000 1 torch/x.py:3] {\"dynamo_start\": {'a'}}\n"
        + traces.record("dynamo_start", {"stack": []})
    )
    found, tally = read(data, "dynamo_start")
    assert [record.data["dynamo_start"] for record in found] == [{"stack": []}]
    assert (tally.records, tally.malformed, dict(tally.unknown)) == (2, 3, {"sparkles": 1})


def test_a_name_inside_another_kind_is_no_artifact(traces: Traces) -> None:
    found, tally = read(traces.record("optimize_ddp_split_child", {"name": "submod_0"}), "optimize_ddp_split_child")
    assert [record.name for record in found] == ["optimize_ddp_split_child"]
    assert not tally.unknown
    assert not read(traces.record("sparkles", {"a": 1}), "sparkles")[1].unknown


def test_the_end_of_a_killed_job_is_not_called_malformed(traces: Traces) -> None:
    whole = traces.artifact("a", "first\nsecond")
    for cut in (len(whole) - 3, 60):
        found, tally = read(traces.record("dynamo_start") + whole[:cut], "a")
        assert (tally.cut, tally.malformed) == (True, 0)
    assert found == []


def test_bytes_that_are_no_utf8_are_replaced(traces: Traces) -> None:
    data = traces.artifact("a", "caf#").replace(b"#", b"\xe9") + b"\xff\xfe\x00\n"
    found, tally = read(data, "a")
    assert found[0].payload == "caf\ufffd"
    assert tally.malformed == 1


def test_numbers_and_names_of_ansi_streams_are_no_headers() -> None:
    _, tally = read(b"[rank0]:W1121 08:01:33.923000 1 torch/x.py:3] a warning\n\n")
    assert (tally.records, tally.malformed) == (0, 1)


class Endless(io.RawIOBase):
    """A header, then one line and one payload of ``size`` bytes, made while they are read."""

    def __init__(self, head: bytes, size: int) -> None:
        self._parts = [head, *[b"x" * (1 << 16)] * (size >> 16), b"\n"]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if not self._parts:
            return 0
        part = self._parts.pop(0)
        taken, rest = part[: len(buffer)], part[len(buffer) :]
        if rest:
            self._parts.insert(0, rest)
        buffer[: len(taken)] = taken
        return len(taken)


def test_no_line_is_too_long(traces: Traces) -> None:
    """100 MB in one header, and 100 MB in one line of a payload, take the memory of a few limits."""
    header = b'V1121 08:01:33.923000 1 torch/x.py:3] {"dynamo_start": "'
    payload = traces.artifact("a", "-").removesuffix(b"\n")
    for head in (header, payload):
        tally = Tally()
        tracemalloc.start()
        found = list(records(io.BufferedReader(Endless(head, 100 << 20)), ["a", "dynamo_start"], tally))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 6 * LINE_LIMIT
        assert tally.malformed == (head is header)
        assert all(len(record.payload) <= PAYLOAD_LIMIT for record in found)


def test_a_long_payload_is_kept_up_to_the_limit(traces: Traces) -> None:
    (found,), _ = read(traces.artifact("a", "\n".join(["x" * 1000] * 3000)), "a")
    assert PAYLOAD_LIMIT <= len(found.payload) < PAYLOAD_LIMIT + 2000


def test_every_record_of_json_is_read_as_it_is() -> None:
    body = json.dumps({"dynamo_start": {"stack": [{"loc": 'if a["b"] {'}]}, "rank": 3})
    (found,), _ = read(f"V1121 08:01:33.9 1 torch/x.py:3] {body}\n".encode(), "dynamo_start")
    assert found.data["rank"] == 3
