"""The records of a trace file, one after the other, in bounded memory.

A record is a line ``V1120 08:01:33.923000 31001 torch/_dynamo/utils.py:2350] {...}`` and the lines of its payload, each
after a tab (torch/_logging/_internal.py, TorchLogsFormatter). The first key of the JSON is the kind of the record; of
an ``artifact`` its name is. Payloads make up most of a trace and are skipped unless they are needed.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

#: Bytes that are kept of one line, and of one payload.
LINE_LIMIT = 4 << 20
PAYLOAD_LIMIT = 1 << 20
#: Bytes that are read of one file, once it is unpacked: a small packed file may hold any number of them.
FILE_LIMIT = 64 << 30

_HEADER = re.compile(rb'[A-Z][A-Z0-9]*\d{4} [^\]\n]*\] \{"(\w+)": (?:\{"name": "([^"]*)")?')

#: The kinds that torch 2.6 to 2.13 writes: trace_structured() in torch's sources. Others without a reader are unknown.
KINDS = frozenset({
    "aot_backward_graph", "aot_forward_graph", "aot_inference_graph", "aot_joint_graph", "artifact",
    "bwd_compilation_metrics", "chromium_event", "compilation_metrics", "compiled_autograd_graph", "create_symbol",
    "create_unbacked_symbol", "describe_source", "describe_storage", "describe_tensor", "dump_file",
    "dynamo_cpp_guards_str", "dynamo_guards", "dynamo_output_graph", "dynamo_start", "export", "exported_program",
    "expression_created", "graph_dump", "guard_added", "guard_added_fast", "guard_on_data_dependent_error",
    "inductor_input_graph", "inductor_output_code", "inductor_post_grad_graph", "inductor_pre_grad_graph", "link",
    "mismatched_fake_kernel", "missing_fake_kernel", "optimize_ddp_split_child", "optimize_ddp_split_graph",
    "propagate_real_tensors", "propagate_real_tensors_provenance", "str", "symbolic_shape_specialization",
})  # fmt: skip


@dataclass(frozen=True)
class Record:
    """One record. ``name`` is its kind, or what the artifact is called; ``data`` is its JSON."""

    name: str
    data: dict[str, Any]
    payload: str


@dataclass
class Tally:
    """What was read. ``cut``: the file ends inside a record; ``damaged``: why the rest of it could not be read."""

    lines: int = 0
    records: int = 0
    malformed: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    cut: bool = False
    damaged: str = ""


def records(stream: BinaryIO, wanted: Collection[str], tally: Tally) -> Iterator[Record]:
    """The records of the names ``wanted``; all are counted in ``tally``. Never raises on what the file holds."""
    assembler = Assembler(wanted, tally)
    for line in _lines(stream, tally):
        # Most lines are payload that nobody wants.
        if line.startswith(b"\t") and not assembler.collects:
            continue
        if (record := assembler.add(line)) is not None:
            yield record
    if (record := assembler.end()) is not None:
        yield record


class Assembler:
    """Lines -> records. That a record is whole shows only by the line after it, or by the end of the file."""

    def __init__(self, wanted: Collection[str], tally: Tally) -> None:
        self._wanted, self._tally = wanted, tally
        self._pending: _Pending | None = None
        #: Whether the payload that comes next is wanted.
        self.collects = False

    def add(self, line: bytes) -> Record | None:
        """The record that ``line`` is no part of any more."""
        if line.startswith(b"\t"):
            if self._pending is not None:
                self._pending.add(line)
            return None
        done = self.end()
        self._pending = _header(line, self._wanted, self._tally)
        self.collects = self._pending is not None
        return done

    def end(self) -> Record | None:
        """The record that nothing more comes of."""
        done, self._pending, self.collects = self._pending, None, False
        return done.record() if done is not None else None


class _Pending:
    """A record whose payload is still being read."""

    def __init__(self, name: str, data: dict[str, Any]) -> None:
        self.name, self.data = name, data
        self.lines: list[bytes] = []
        self.size = 0

    def add(self, line: bytes) -> None:
        if self.size < PAYLOAD_LIMIT:
            self.lines.append(line[1:PAYLOAD_LIMIT])
            self.size += len(self.lines[-1])

    def record(self) -> Record:
        return Record(self.name, self.data, b"".join(self.lines).decode("utf-8", "replace").rstrip("\n"))


def _lines(stream: BinaryIO, tally: Tally) -> Iterator[bytes]:
    """The lines; of one longer than the limit, its beginning."""
    whole, size = True, 0
    try:
        for line in iter(partial(stream.readline, LINE_LIMIT), b""):
            begins, whole = whole, line.endswith(b"\n")
            size += len(line)
            if size > FILE_LIMIT:
                tally.damaged = f"more than {FILE_LIMIT >> 30} GiB; what comes after them is not read"
                return
            if begins:
                tally.lines += 1
                yield line if len(line) < LINE_LIMIT else line[:-1] + b"\n"
    except (OSError, EOFError, zlib.error) as error:  # a packed file that is cut or damaged
        tally.damaged = str(error).partition("\n")[0] or type(error).__name__
    tally.cut = not whole


def _header(line: bytes, wanted: Collection[str], tally: Tally) -> _Pending | None:
    match = _HEADER.match(line)
    if match is None or not line.rstrip().endswith(b"}"):
        _count_malformed(line, tally)
        return None
    kind = match[1].decode("utf-8", "replace")
    # An artifact is known by its name; other kinds may have a name too.
    name = match[2].decode("utf-8", "replace") if kind == "artifact" and match[2] else kind
    data: dict[str, Any] = {}
    if name in wanted:
        try:
            data = json.loads(line[line.index(b"] {") + 2 :])
        except (ValueError, RecursionError, MemoryError):
            _count_malformed(line, tally)
            return None
    tally.records += 1
    if kind not in KINDS and name not in wanted:
        tally.unknown[kind] += 1
    return _Pending(name, data) if name in wanted else None


def _count_malformed(line: bytes, tally: Tally) -> None:
    # The last line of a job that was killed is no fault of the file; ``Tally.cut`` marks it.
    if line.endswith(b"\n") and line.strip():
        tally.malformed += 1
