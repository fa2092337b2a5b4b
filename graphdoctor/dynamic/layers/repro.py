"""A script that fails as a stage of the ladder did, and needs nothing but torch, or nothing but the user's file."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import fx

from graphdoctor.dynamic.layers.inductor import Kept
from graphdoctor.model.runs import Stage

#: Seconds that a script may take to fail.
_TIMEOUT = 120
_RUN = """
compiled = torch.compile({function}, backend="{backend}")
outputs = compiled(*args, **kwargs)
"""
_BACKWARD = """tensors = outputs if isinstance(outputs, (list, tuple)) else [outputs]
sum(t.float().sum() for t in tensors if isinstance(t, torch.Tensor) and t.requires_grad).backward()
"""
_DIFFERS = """
import copy

expected = copy.deepcopy({function})(*copy.deepcopy(args), **kwargs)
outputs = torch.compile({function}, backend="{backend}")(*args, **kwargs)
torch.testing.assert_close(outputs, expected)
"""
_TARGET = """function, args, kwargs = (*graphdoctor_target(), {})[:3]
args = args if isinstance(args, (tuple, list)) else (args,)
"""
_KERNEL_BENCH = "function, args, kwargs = Model({init}), get_inputs(), {{}}\n"


def script(stage: Stage, kept: Kept | None, source: str, backward: bool) -> str | None:
    """The shortest script that was run and failed as ``stage`` did; ``source`` is the text of the user's file.

    ``backward`` also calls backward. None where no script fails in the same way.
    """
    return next((text for text in _candidates(stage, kept, source, backward) if _fails(text, stage)), None)


def _candidates(stage: Stage, kept: Kept | None, source: str, backward: bool) -> Iterator[str]:
    tail = _DIFFERS if stage.outcome == "differs" else _RUN + (_BACKWARD if backward else "")
    graph = kept.graph if kept is not None and stage.name != "eager" else None
    if graph is not None and kept is not None and is_plain(graph, kept.inputs):
        text = graph_class(graph)
        if text is not None:
            values = "".join(f"    {expression(value)},\n" for value in kept.inputs)
            call = tail.format(function="graph", backend=stage.name)
            made = f"torch.manual_seed(0)\ngraph, kwargs = Graph(), {{}}\nargs = (\n{values})\n"
            yield f"{_head(stage)}{text}\n\n{made}{call}"
    values = target(source)
    if values:
        call = tail.format(function="function", backend=stage.name)
        yield f"{_head(stage)}{source.rstrip()}\n\n\nimport torch\n\n{values}{call}"


def _head(stage: Stage) -> str:
    what = "Gives other outputs than eager" if stage.outcome == "differs" else f"Fails in {stage.layer}"
    where = f"# Seen at {stage.path}:{stage.line}.\n" if stage.path else ""
    return f"# {what}: torch {torch.__version__}, backend {stage.name}.\n# {' '.join(stage.detail.split())}\n{where}"


def _fails(text: str, stage: Stage) -> bool:
    """``text`` ends with the exception of ``stage``."""
    return ("AssertionError" if stage.outcome == "differs" else stage.detail.partition(":")[0]) in error_of(text)


def error_of(text: str) -> str:
    """What the script ``text`` writes to stderr where it fails in a process of its own, at least " "; else empty."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "repro.py"
        file.write_text(text, encoding="utf-8")
        try:
            command = [sys.executable, str(file)]
            # Precompiled headers would stay in a folder that all processes share.
            env = {**os.environ, "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}
            done = subprocess.run(
                command, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return ""
    return (done.stderr or " ") if done.returncode else ""


def is_plain(graph: fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """Inputs that a line of code can make, and no constants or modules inside."""
    made = all(type(value) in (torch.Tensor, torch.nn.Parameter, int, float) for value in inputs)
    return made and not any(node.op in ("get_attr", "call_module") for node in graph.graph.nodes)


def graph_class(graph: fx.GraphModule) -> str | None:
    """The imports and the class of ``graph``; None where its code uses what no import gives."""
    code = graph.graph.python_code("self")
    imports = ["import torch"]
    for name, value in sorted(code.globals.items()):
        if name == "torch" or not re.search(rf"\b{name}\b", code.src):
            continue
        line = _import(name, value)
        if line is None:
            return None
        imports.append(line)
    body = "\n".join(f"    {line}" if line.strip() else "" for line in code.src.strip("\n").splitlines())
    return "\n".join(imports) + f"\n\n\nclass Graph(torch.nn.Module):\n{body}\n"


def _import(name: str, value: Any) -> str | None:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, float):
        return f"from math import {name}"
    if value is type(None):
        return f"{name} = type(None)"
    module, known = getattr(value, "__module__", None), getattr(value, "__name__", "")
    # What is defined in the user's file is not there without it.
    importable = isinstance(module, str) and module.partition(".")[0] in ("torch", "builtins", "math", "operator")
    if importable and getattr(importlib.import_module(str(module)), known, None) is value:
        return f"from {module} import {known} as {name}"
    return None


def expression(value: Any) -> str:
    """An expression for an input of the same shape, strides, dtype and device, with random numbers."""
    if not isinstance(value, torch.Tensor):
        return repr(value)
    shape, device = tuple(int(size) for size in value.shape), f"device={str(value.device)!r}"
    if value.is_floating_point() or value.is_complex():
        text = f"torch.randn({shape}, dtype={value.dtype}, {device})"
    else:
        text = f"torch.randint(0, 2, {shape}, {device}).to({value.dtype})"
    if not value.is_contiguous():
        strides = tuple(int(stride) for stride in value.stride())
        text = f"torch.empty_strided({shape}, {strides}, dtype={value.dtype}, {device}).copy_({text})"
    return f"{text}.requires_grad_()" if value.requires_grad else text


def target(source: str) -> str:
    """The lines that make what was run, from the conventions that the file follows; empty where it follows none."""
    if re.search(r"^def graphdoctor_target\b", source, re.MULTILINE):
        return _TARGET
    if re.search(r"^class Model\b", source, re.MULTILINE) and re.search(r"^def get_inputs\b", source, re.MULTILINE):
        init = "*get_init_inputs()" if re.search(r"^def get_init_inputs\b", source, re.MULTILINE) else ""
        return _KERNEL_BENCH.format(init=init)
    return ""
