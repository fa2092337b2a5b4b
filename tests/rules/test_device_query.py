"""Questions about the build of torch and about devices, as Dynamo takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from graphdoctor.rules.device_query import TRACED_SINCE_2_14
from torch._dynamo.testing import CompileCounter

from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


@torch.compile
def f(x):
    return x + 1 if {call}() else x - 1
"""
NAMES = (
    "torch.backends.mkl.is_available", "torch.backends.nnpack.is_available", "torch.backends.opt_einsum.is_available",
    "torch.backends.mkldnn.is_acl_available", "torch.backends.cpu.get_cpu_capability",
    "torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed", "torch.xpu.is_bf16_supported",
    "torch.is_vulkan_available", *sorted(TRACED_SINCE_2_14), "torch.xpu.is_available",
    "torch.accelerator.is_available", "torch.distributed.is_available",
)  # fmt: skip


@pytest.mark.parametrize("call", NAMES)
def test_a_question_breaks_where_it_is_reported(tmp_path: Path, call: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(call=call))
    active = catalog.holding(catalog.rules(), torch.__version__)
    reported = [finding.rule for finding in analyse([(file, "net.py")], active).findings]
    torch._dynamo.reset()
    namespace: dict[str, object] = {}
    exec(compile(SOURCE.format(call=call).replace("@torch.compile", ""), str(file), "exec"), namespace)
    torch._dynamo.utils.counters.clear()
    torch.compile(namespace["f"], backend=CompileCounter())(torch.ones(2))  # type: ignore[call-overload]
    assert reported == (["GD506"] if torch._dynamo.utils.counters["graph_break"] else [])


@pytest.mark.parametrize("call", sorted(TRACED_SINCE_2_14))
def test_what_torch_2_14_traces_is_not_reported_for_it(tmp_path: Path, call: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(call=call))
    assert not analyse([(file, "net.py")], catalog.holding(catalog.rules(), "2.14.0")).findings
