"""A part of the compiler's API that was removed.

What: Imports and uses of what torch 2.13 does not have any more: `torch._dynamo.utils.CompileProfiler`,
`torch._dynamo.optimizations`, `torch._dynamo.skipfiles`, `torch._dynamo.allowed_functions`,
`torch._dynamo.compiled_autograd.enable`, `torch._export.export`, `torch._export.capture_pre_autograd_graph`,
`torch._export.dynamic_dim`, `torch.export.dynamic_dim`, `torch.export.export_for_training`,
`torch._inductor.overrides`, `torch._inductor.triton_ops`, `torch.ao.quantization.quantize_pt2e`,
`torch._prims.nvfuser_executor`.

Why: The import raises. An import inside `try` is not reported. `torch.distributed._composable.fsdp.fully_shard`, an
old path, still works.

Fix: Use what the message names.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import NameUse
from graphdoctor.syntax.walk import walk

CODE = "GD620"
NAME = "removed-api"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.13"

BREAKS = (
    """\
import torch
from torch._dynamo.utils import CompileProfiler  # raises


def f(x):
    return x * 2
""",
    """\
import torch


def main(model, example):
    return torch._export.capture_pre_autograd_graph(model, example)  # flagged


# torch.compile


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch

try:
    from torch._dynamo.utils import CompileProfiler
except ImportError:
    CompileProfiler = None

compiled = torch.compile(torch.nn.ReLU(), backend="eager")


def f(x):
    return x * 2
""",
    """\
import torch
from torch._dynamo.utils import counters

compiled = torch.compile(torch.nn.ReLU(), backend="eager")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.export


def main(model, example):
    return torch.export.export(torch.compile(model), example)


def f(x):
    return x * 2
""",
)


#: What was removed, and what to use instead; None where there is nothing.
REMOVED = {
    "torch._dynamo.utils.CompileProfiler": "`graphdoctor scan --vary`, or `TORCH_LOGS=recompiles`",
    "torch._dynamo.optimizations": "`torch._dynamo.backends`",
    "torch._dynamo.skipfiles": "`torch._dynamo.trace_rules`",
    "torch._dynamo.allowed_functions": "`torch._dynamo.trace_rules`",
    "torch._dynamo.compiled_autograd.enable": "`torch._dynamo.config.compiled_autograd = True`",
    "torch._export.export": "`torch.export.export`",
    "torch._export.capture_pre_autograd_graph": "`torch.export.export`",
    "torch._export.dynamic_dim": "`torch.export.Dim`",
    "torch.export.dynamic_dim": "`torch.export.Dim`",
    "torch.export.export_for_training": "`torch.export.export`",
    "torch._inductor.overrides": None,
    "torch._inductor.triton_ops": None,
    "torch.ao.quantization.quantize_pt2e": "the package torchao",
    "torch._prims.nvfuser_executor": 'the default backend, "inductor"',
}


def check_nameuse(event: NameUse) -> Hit | None:
    name = next((known for known in REMOVED if f"{event.name}.".startswith(f"{known}.")), None)
    if name is None or _in_try(event):
        return None
    instead = REMOVED[name]
    return Hit(event, f"torch 2.13 has no `{name}`", f"use {instead}" if instead else "remove it: it was internal")


def _in_try(event: NameUse) -> bool:
    tries = (n for n in walk(event.site.module.tree) if isinstance(n, cst.Try))
    return any(n is event.node for each in tries for n in walk(each))
