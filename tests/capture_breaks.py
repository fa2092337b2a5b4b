"""What Dynamo itself says of each file, written to know nothing of graphdoctor: the yardstick of the tests.

``python capture_breaks.py FILE...`` calls each file's ``graphdoctor_target()`` in eval and in train mode and prints
a JSON list with one object per file and mode: how many graphs the backend was given, the places of the structured
trace's ``dynamo_graph_break_reason`` records (torch/_dynamo/symbolic_convert.py logs them), and whether
``fullgraph=True`` passes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch


class BreakRecords(logging.Handler):
    """Collects the payload of each graph-break record while it is attached."""

    def __init__(self) -> None:
        super().__init__()
        self.payloads: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        artifact = getattr(record, "metadata", {}).get("artifact", {})
        if artifact.get("name") == "dynamo_graph_break_reason":
            self.payloads.append(record.payload)  # type: ignore[attr-defined]


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def place(payload: str) -> list[Any]:
    found = re.match(r"Graph break in user code at (.+):(\d+)", payload)
    assert found, payload
    return [found[1], int(found[2])]


def capture(file: Path, train: bool) -> dict[str, Any]:
    model, args, *rest = load(file).graphdoctor_target()
    kwargs = rest[0] if rest else {}
    model.train(train)
    graphs = 0

    def backend(graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> Any:
        nonlocal graphs
        graphs += 1
        return graph

    records = BreakRecords()
    trace = logging.getLogger("torch.__trace")
    trace.addHandler(records)
    try:
        torch._dynamo.reset()
        torch.compile(model, backend=backend, fullgraph=True)(*args, **kwargs)
        fullgraph = True
    except torch._dynamo.exc.Unsupported:
        # What breaks, and into how many graphs, only a call that may break shows.
        fullgraph, graphs = False, 0
        records.payloads.clear()
        torch._dynamo.reset()
        torch.compile(model, backend=backend)(*args, **kwargs)
    finally:
        trace.removeHandler(records)
    return {
        "file": str(file),
        "mode": "train" if train else "eval",
        "graphs": graphs,
        "events": [place(payload) for payload in records.payloads],
        "ids": sorted({gb.upper() for payload in records.payloads for gb in re.findall(r"gb\d{4}", payload)}),
        "fullgraph": fullgraph,
    }


def main(files: list[str]) -> None:
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        results = []
        for name in files:
            file = Path(name).resolve()
            sys.path.insert(0, str(file.parent))
            results += [capture(file, train) for train in (False, True)]
            sys.path.pop(0)
    json.dump(results, out)


if __name__ == "__main__":
    main(sys.argv[1:])
