"""Traces made by hand: records as torch 2.13 writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

_BREAK = """\
Graph break in user code at {path}:{line}
Graph Break Reason: {reason}

Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['Tensor']

  Developer debug context: builtin print [<class 'TensorVariable'>] False

 For more details about this graph break, please visit: https://meta-pytorch.github.io/site/gb/gb0059.html

User code traceback:
  File "{path}", line {line}, in {name}
    {code}

Traceback (most recent call last):
  File "/env/site-packages/torch/_dynamo/symbolic_convert.py", line 1076, in wrapper
    return inner_fn(self, inst)
torch._dynamo.exc.Unsupported: Failed to trace builtin operator"""


class Traces:
    """Makes records, and files of them in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def record(self, kind: str, data: Any = None, payload: str | None = None, **context: Any) -> bytes:
        """One record and its payload."""
        head = f"V1121 08:01:33.923000 31001 torch/_dynamo/utils.py:2350] {json.dumps({kind: data or {}, **context})}"
        return (head + "".join(f"\n\t{line}" for line in (payload or "").splitlines()) + "\n").encode()

    def artifact(self, name: str, payload: str, frame: int = 0, attempt: int = 0) -> bytes:
        """An artifact of a compilation."""
        return self.record("artifact", {"name": name, "encoding": "string"}, payload, **self._ids(frame, attempt))

    def start(
        self,
        frame: int,
        attempt: int,
        path: str,
        line: int,
        name: str = "forward",
        callers: tuple[tuple[int, str], ...] = (),
    ) -> bytes:
        """The path, as torch numbers it, and the start of a compilation; ``callers`` are in the same file."""
        stack = [{"line": at, "name": caller, "filename": 7} for at, caller in callers]
        stack.append({"line": line, "name": name, "filename": 7})
        return self.record("str", [path, 7]) + self.record(
            "dynamo_start", {"stack": stack}, **self._ids(frame, attempt)
        )

    def metrics(self, frame: int, attempt: int, **metrics: Any) -> bytes:
        """The end of a compilation."""
        return self.record("compilation_metrics", metrics, **self._ids(frame, attempt))

    def graph_break(
        self,
        path: str,
        line: int,
        code: str = "print(x)",
        name: str = "forward",
        frame: int = 0,
        reason: str = "Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):",
    ) -> bytes:
        """A graph break at a print."""
        payload = _BREAK.format(path=path, line=line, code=code, name=name, reason=reason)
        return self.artifact("dynamo_graph_break_reason", payload, frame)

    def write(self, rank: int | None, *records: bytes, number: int = 0) -> Path:
        """A file, named as torch does."""
        middle = "" if rank is None else f"rank_{rank}_"
        file = self.folder / f"dedicated_log_torch_trace_{middle}abc{number}.log"
        file.write_bytes(b"".join(records))
        return file

    @staticmethod
    def _ids(frame: int, attempt: int) -> dict[str, int]:
        return {"frame_id": frame, "frame_compile_id": attempt, "attempt": 0}


@pytest.fixture
def traces(tmp_path: Path) -> Traces:
    """Records and files of a job."""
    folder = tmp_path / "trace"
    folder.mkdir()
    return Traces(folder)
