"""Runs rule examples under Dynamo and says which lines broke. Executed as a script, in a process of its own.

Reads a JSON object ``{name: source}`` from stdin and writes ``{name: {"breaks": {line: [ids]}, "raised": text,
"compiled": count}}`` to the file named by its argument, so that whatever the examples print cannot mix with the answer.
``compiled`` counts the graphs made while the module was imported and its target was called with each of its
``graphdoctor_variants()``, or three times where it declares none and REPEAT is part of its name. Of those, one that
compiles by itself is only imported.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import logging
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch._dynamo.utils import counters

from graphdoctor.breaks.grouping import RawEvent
from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.dynamic.tracing.private_torch import skip_guard_timing

#: Part of the names of examples that show recompiling.
REPEAT = "_again_"

GB_LINK = re.compile(r"gb(\d{4})\.html")


class BreakRecorder(logging.Handler):
    """Keeps the texts of the structured trace's graph break records.

    The record is the artifact ``dynamo_graph_break_reason`` of the logger ``torch.__trace`` (torch 2.6 to 2.13,
    torch/_dynamo/symbolic_convert.py and convert_frame.py).
    """

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        metadata = getattr(record, "metadata", {})
        if metadata.get("artifact", {}).get("name") == "dynamo_graph_break_reason":
            self.reasons.append(str(getattr(record, "payload", "")))


def load(name: str, source: str, folder: Path) -> ModuleType:
    """Import ``source`` as a module with a file of its own, which Dynamo needs for its stacks."""
    file = folder / f"{name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def own_line(reason: str, file: str) -> int:
    """The line of the innermost frame of ``file`` in the user stack of a break's text; 0 when it has none."""
    _, _, stack = reason.partition("User code traceback:")
    stack, _, _ = stack.partition("\nTraceback (most recent call last)")
    places = re.findall(rf'File "{re.escape(file)}", line (\d+)', stack)
    places = places or re.findall(rf"Graph break in user code at {re.escape(file)}:(\d+)", reason)
    return int(places[-1]) if places else 0


def line_of_call(reason: str, file: str, events: list[RawEvent]) -> int:
    """The line of ``file`` that calls a layer of torch in which it broke, which the text leaves out; 0 if none."""
    called = (frame.line for event in events if event.message in reason for frame in event.traced if frame.path == file)
    return next(called, 0)


def run(name: str, source: str, folder: Path, recorder: BreakRecorder, settings: bytes) -> dict[str, Any]:
    """Compile and call one example; which of its own lines broke, and what the call raised.

    ``settings`` are those of Dynamo, which an example may change for itself only.
    """
    torch._dynamo.reset()
    torch._dynamo.config.load_config(settings)
    torch.manual_seed(0)
    recorder.reasons.clear()
    counters.clear()
    raised = ""
    with record() as recording:
        try:
            module = load(name, source, folder)
            if not (REPEAT in name and "torch.compile" in source):
                function, args = module.graphdoctor_target()
                compiled = torch.compile(function, backend="eager")
                calls = [args] * (3 if REPEAT in name else 1)
                for arguments in module.graphdoctor_variants() if hasattr(module, "graphdoctor_variants") else calls:
                    compiled(*arguments)
        except Exception as error:
            raised = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    file = str(folder / f"{name}.py")
    lines: dict[int, set[str]] = defaultdict(set)
    for reason in recorder.reasons:
        line = own_line(reason, file) or line_of_call(reason, file, recording.events)
        lines[line].update(f"GB{number}" for number in GB_LINK.findall(reason))
    breaks = {line: sorted(ids) for line, ids in sorted(lines.items())}
    return {"breaks": breaks, "raised": raised, "compiled": counters["stats"]["unique_graphs"]}


def main() -> None:
    examples: dict[str, str] = json.load(sys.stdin)
    recorder = BreakRecorder()
    skip_guard_timing()
    logging.getLogger("torch.__trace").addHandler(recorder)
    settings = torch._dynamo.config.save_config()
    # Compiling makes many objects, and the collector would look at them again and again.
    gc.collect()
    gc.freeze()
    gc.disable()
    with tempfile.TemporaryDirectory() as folder:
        results = {name: run(name, source, Path(folder), recorder, settings) for name, source in examples.items()}
    Path(sys.argv[1]).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
