"""The trace of one process, written while it goes, in the format of TORCH_TRACE.

Each record is written by one system call and without a buffer, so that the file is whole however the process ends.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from graphdoctor.recorder.argument_names import argument_names
from graphdoctor.recorder.torch_hooks import (
    frame_being_compiled,
    gives_up_function,
    interned_names,
    nearest_callers,
    traced_frames,
)

#: What is kept of the trace. The rest, code and graphs as text, is most of it.
KEPT = frozenset({
    "aot_backward_graph", "aot_inference_graph", "aotautograd_cache_bypass", "aotautograd_cache_hit",
    "aotautograd_cache_miss", "bwd_compilation_metrics", "compilation_metrics", "compiled_autograd_graph",
    "describe_tensor", "dynamo_cpp_guards_str", "dynamo_graph_break_reason", "dynamo_output_graph", "dynamo_start",
    "fx_graph_cache_bypass", "fx_graph_cache_hit", "fx_graph_cache_miss", "optimize_ddp_split_child",
    "optimize_ddp_split_graph", "recompile_reasons", "str", "torch_version",
})  # fmt: skip
#: Of these, what happened counts, not what the compiled code looks like.
_WITHOUT_PAYLOAD = frozenset({
    "aot_backward_graph", "aot_inference_graph", "compiled_autograd_graph", "dynamo_output_graph",
    "fx_graph_cache_hit", "fx_graph_cache_miss",
    "aotautograd_cache_hit", "aotautograd_cache_miss", "optimize_ddp_split_child", "optimize_ddp_split_graph",
})  # fmt: skip
#: The guards tell what the ranks of a job differ in; of one process alone they are not needed, and long.
_OF_RANKS = "dynamo_cpp_guards_str"
#: The start of a compilation, a graph break in it, and the end.
_START = "dynamo_start"
_BREAK = "dynamo_graph_break_reason"
_END = "compilation_metrics"
_IDS = ("frame_id", "frame_compile_id", "attempt", "rank")
_PAYLOAD_LIMIT = 1 << 20


class TraceFile(logging.Handler):
    """Writes the records of this process, and of its forks to files of their own, from the first compilation on.

    ``traced`` takes the lines that Dynamo traces, by file, ``last`` the newest of each.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.traced: dict[str, set[int]] = {}
        self.last: dict[str, int] = {}
        self._folder = folder
        self._written: dict[str, set[int]] = {}
        self._handle = -1
        self._process = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record of the trace."""
        metadata: dict[str, Any] = getattr(record, "metadata", None) or {}
        kind = next(iter(metadata), "")
        name = kind
        if kind == "artifact":
            name = metadata[kind].get("name", "")
        if name not in KEPT or (name == _OF_RANKS and "RANK" not in os.environ):
            return
        try:
            if name == _END:
                self._write_failure(metadata[_END])
            if name == _BREAK:
                self._write_of(metadata, "graphdoctor_traced_frames", traced_frames())
                if gives_up_function():
                    self._write_of(metadata, "graphdoctor_gives_up_function", True)
            payload = None if name in _WITHOUT_PAYLOAD else getattr(record, "payload", None)
            self._write(metadata, payload)
            if name == _START:
                # torch leaves the nearest callers out of the stack.
                self._write_of(metadata, "graphdoctor_called_by", nearest_callers())
                compiled = frame_being_compiled()
                if compiled is not None and (names := argument_names(*compiled)) is not None:
                    self._write_of(metadata, "graphdoctor_argument_names", names)
            if name == _END:
                self._write_lines()
        except Exception:
            self._give_up()

    def note(self, name: str, content: Any) -> None:
        """Write a record of the recorder's own: an artifact ``name`` with JSON."""
        self.acquire()
        try:
            self._write({"artifact": {"name": name, "encoding": "json"}}, json.dumps(content, default=str))
        except Exception:
            self._give_up()
        finally:
            self.release()

    def _give_up(self) -> None:
        """A full disk or a removed folder costs the rest of the recording, and the program nothing."""
        logging.getLogger("torch.__trace").removeHandler(self)

    def _write_failure(self, metrics: dict[str, Any]) -> None:
        """The line of the compiled function at which its compilation ended: torch names the innermost function only."""
        line = self.last.get(metrics.get("co_filename") or "")
        if metrics.get("fail_type") and line:
            self._write({"artifact": {"name": "graphdoctor_failed_at", "encoding": "json"}}, json.dumps({"line": line}))

    def _write_of(self, metadata: dict[str, Any], name: str, content: Any) -> None:
        """Write an artifact of the recorder's own that belongs to the compilation of ``metadata``."""
        ids = {key: metadata[key] for key in _IDS if key in metadata}
        self._write({"artifact": {"name": name, "encoding": "json"}, **ids}, json.dumps(content, default=str))

    def _write_lines(self) -> None:
        fresh = {}
        for path, lines in list(self.traced.items()):
            new = lines - self._written.get(path, set())
            if new:
                self._written.setdefault(path, set()).update(new)
                fresh[path] = sorted(new)
        if fresh:
            self._write(
                {"artifact": {"name": "graphdoctor_traced_lines", "encoding": "json"}}, json.dumps(fresh, default=str)
            )

    def _write(self, metadata: dict[str, Any], payload: str | None) -> None:
        if self._process != os.getpid():
            self._open()
        os.write(self._handle, _line(metadata, payload))

    def _open(self) -> None:
        self._process = os.getpid()
        rank = os.environ.get("RANK", "")
        middle = f"rank_{rank}_" if rank.isdigit() else ""
        name = f"dedicated_log_torch_trace_{middle}{self._process}_{time.time_ns():x}.log"
        self._handle = os.open(Path(self._folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._written.clear()
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        program = {"arguments": sys.argv, "main": os.path.abspath(main) if main else None, "folder": os.getcwd()}
        self._write({"artifact": {"name": "graphdoctor_program", "encoding": "json"}}, json.dumps(program, default=str))
        # torch writes this record only where it opens a trace of its own.
        version = json.dumps({"pytorch_version": torch.__version__})
        self._write({"artifact": {"name": "torch_version", "encoding": "json"}}, version)
        for path, number in interned_names().items():
            self._write({"str": [path, number]}, None)


def _line(metadata: dict[str, Any], payload: str | None) -> bytes:
    """The record as torch writes it: a header, the metadata as JSON, each line of the payload after a tab."""
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now))
    text = f"V{stamp}.{int(now % 1 * 1e6):06d} {os.getpid()} graphdoctor/recorder.py:1] "
    text += json.dumps(metadata, default=str) + "\n"
    if payload:
        text += "".join(f"\t{line}\n" for line in payload[:_PAYLOAD_LIMIT].split("\n"))
    return text.encode("utf-8", "backslashreplace")
