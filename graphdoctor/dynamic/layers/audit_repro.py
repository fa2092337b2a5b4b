"""Of a backend that changes the answer: where that starts, a script that shows it, and the text of a bug report."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from graphdoctor.dynamic.layers import left_behind, repro
from graphdoctor.dynamic.layers.inductor import Kept
from graphdoctor.dynamic.layers.minimise import Part, minimised
from graphdoctor.model.audit import Audit

#: What says most comes first.
_ORACLES = ("exceptions", "outputs", "metadata", "aliasing", "state", "gradients")
_CHECK = """
found = differences(made, {backend!r}, backward={backward})
assert not found, "\\n".join(found)
"""


def reproduced(found: Audit, kept: Kept, source: str, backward: bool) -> Audit:
    """``found``, whose last backend differs, with the smallest script that was run and shows it, where there is one.

    ``kept`` has the graph that ran last, ``source`` is the text of the user's file. ``backward`` also calls backward.
    """
    last = found.backends[-1]
    seen = {deviation.oracle for deviation in last.deviations}
    # One of them: where outputs differ, gradients do as well.
    oracle = next(f"{oracle}: " for oracle in _ORACLES if oracle in seen)

    def wrong(graph: fx.GraphModule, inputs: Sequence[Any]) -> bool:
        found = left_behind.differences((graph, inputs, {}), last.name, backward)
        return any(text.startswith(oracle) for text in found)

    parts: list[Part] = []
    if kept.graph is not None and repro.is_plain(kept.graph, kept.inputs):
        parts = minimised(kept.graph, kept.inputs, wrong)
    torch._dynamo.reset()
    if parts:
        found = replace(found, operator=parts[0].operator, submodule=found.submodule or parts[0].submodule)
        found = replace(found, place=parts[0].place)
    for script in _scripts(found, parts, source, backward):
        error = repro.error_of(script)
        if f"AssertionError: {oracle}" in error or f"\n{oracle}" in error.rpartition("AssertionError: ")[2]:
            return replace(found, repro=script, issue=_issue(found, script, error))
    return found


def _scripts(found: Audit, parts: Sequence[Part], source: str, backward: bool) -> Iterator[str]:
    check = _CHECK.format(backend=found.backends[-1].name, backward=backward)
    for part in parts:
        graph = repro.graph_class(part.graph)
        if graph is not None:
            values = "".join(f"    {repro.expression(value)},\n" for value in part.inputs)
            made = f"torch.manual_seed(0)\nmade = Graph(), (\n{values}), {{}}\n"
            yield f"{_head(found)}{left_behind.text()}\n\n{graph}\n\n{made}{check}"
    if values := repro.target(source):
        yield f"{source.rstrip()}\n\n\n{left_behind.text()}\n\n{values}made = function, args, kwargs\n{check}"


def _head(found: Audit) -> str:
    last = found.backends[-1]
    lines = [f"torch {torch.__version__}: backend {last.name} ({last.layer}) changes the answer."]
    lines += [" ".join(f"{deviation.oracle}: {deviation.detail}".split()) for deviation in last.deviations[:3]]
    lines += [_start(found)] if found.operator else []
    return "".join(f"# {line}\n" for line in lines)


def _start(found: Audit) -> str:
    inside = f" of {found.submodule}" if found.submodule else ""
    return f"It starts at the operator {found.operator}{inside}" + (f": {found.place}" if found.place else "") + "."


def _issue(found: Audit, script: str, error: str) -> str:
    """Markdown, as torch's form for bugs asks for it."""
    last = found.backends[-1]
    asserted = error.rpartition("AssertionError: ")[2].strip()
    environment = {
        "torch": f"{torch.__version__} ({torch.version.git_version})",
        "python": sys.version.partition(" ")[0],
        "platform": platform.platform(),
        "CPU capability": torch.backends.cpu.get_cpu_capability(),
        "CUDA": torch.version.cuda,
        "GPU": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }
    versions = "".join(f"* {name}: {version}\n" for name, version in environment.items() if version)
    start = f"{_start(found)}\n\n" if found.operator else ""
    oracles = ", ".join(dict.fromkeys(deviation.oracle for deviation in last.deviations))
    same = ", ".join(backend.name for backend in found.backends[:-1]) or "none was tried"
    return (
        f"# torch.compile(backend={last.name!r}) changes the answer: {oracles}\n\n"
        f"The backends before it do what eager does: {same}.\n{start}"
        f"## Repro\n\n```python\n{script}```\n\n## What it prints\n\n```\n{asserted}\n```\n\n## Versions\n\n{versions}"
    )
