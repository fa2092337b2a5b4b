"""The state of a device or of the torch build is queried in compiled code.

What: `torch.cuda.device_count`, `get_device_name`, memory statistics, `is_bf16_supported`, `cudnn.version`,
`torch.backends.*.is_available`,
`get_num_threads`, `get_default_device`, `get_float32_matmul_precision`, `is_inference_mode_enabled`,
`torch.can_cast` and others.

Why: These functions return Python values that Dynamo does not trace, so each call splits the graph.
`torch.cuda.is_available`, `x.device`, `torch.is_grad_enabled` and `torch.get_default_dtype` are traced.

Fix: Query it once, in `__init__` or at module level, and keep the answer. Read memory statistics around the call
of the model.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.hoist import hoist_probe
from graphdoctor.fixes.python.operators import number_as_operator
from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD506"
NAME = "device-query"
SEVERITY = "error"
GB_IDS = ("GB0208", "GB0007", "GB0046")
TORCH = ">=2.6"

#: Functions that give a Python value on a GPU only, seen to break there with torch 2.11.
_ON_A_GPU = (
    *(f"torch.cuda.{name}" for name in (
        "get_device_name", "get_arch_list", "get_gencode_flags", "can_device_access_peer", "is_tf32_supported",
        "is_current_stream_capturing", "memory_stats", "memory_stats_as_nested_dict", "memory_summary",
        "memory_snapshot", "memory_cached", "max_memory_cached", "memory_usage", "device_memory_used", "utilization",
        "temperature", "power_draw", "clock_rate", "list_gpu_processes", "get_allocator_backend",
        "get_sync_debug_mode", "current_blas_handle",
    )),
    *(f"torch.accelerator.{name}" for name in (
        "device_count", "empty_cache", "memory_allocated", "max_memory_allocated", "memory_reserved",
        "max_memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device_index",
    )),
    "torch.backends.cudnn.version", "torch.backends.cuda.cudnn_sdp_enabled",
    "torch.backends.cuda.preferred_linalg_library", "torch.backends.cuda.preferred_blas_library",
)  # fmt: skip

#: Functions that were seen to break on torch 2.13, without a GPU.
QUERIES = frozenset((
    "torch.cuda.device_count", "torch.cuda.memory_allocated", "torch.cuda.max_memory_allocated",
    "torch.cuda.memory_reserved", "torch.cuda.max_memory_reserved", "torch.cuda.is_bf16_supported",
    "torch.backends.mps.is_available", "torch.mps.is_available", "torch.cpu.is_available", "torch.set_flush_denormal",
    "torch.backends.openmp.is_available", "torch.backends.cuda.is_built", "torch.backends.cudnn.is_available",
    "torch.backends.mkldnn.is_available", "torch.backends.cuda.flash_sdp_enabled",
    "torch.backends.cuda.mem_efficient_sdp_enabled", "torch.backends.cuda.math_sdp_enabled",
    "torch.get_num_threads", "torch.set_num_threads", "torch.get_num_interop_threads", "torch.get_default_device",
    "torch.is_inference_mode_enabled", "torch.get_float32_matmul_precision", "torch.__config__.show",
    "torch.set_anomaly_enabled", "torch.result_type", "torch.can_cast", "torch.utils.data.get_worker_info",
    "torch.profiler.itt.is_available", "torch.compiler.cudagraph_mark_step_begin", "torch.compiler.reset",
    "torch._dynamo.reset", "torch.mtia.is_available", "torch.xpu.is_bf16_supported", "torch.is_vulkan_available",
    "torch.backends.mkl.is_available", "torch.backends.nnpack.is_available", "torch.backends.opt_einsum.is_available",
    "torch.backends.kleidiai.is_available", "torch.backends.cusparselt.is_available", "torch.backends.mps.is_built",
    "torch.backends.mkldnn.is_acl_available", "torch.backends.cpu.get_cpu_capability",
    "torch.backends.cuda.is_ck_sdpa_available", "torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed",
    *_ON_A_GPU,
))  # fmt: skip

#: Those that torch 2.14 traces.
TRACED_SINCE_2_14 = frozenset((
    "torch.backends.mps.is_available", "torch.backends.mps.is_built", "torch.mps.is_available",
    "torch.mtia.is_available",
))  # fmt: skip

BREAKS = (
    """\
import torch


def f(x):
    return x * torch.cuda.device_count()  # GB0208
""",
    """\
import torch


def f(x):
    used = torch.cuda.memory_allocated()  # GB0208
    return x * 2
""",
    """\
# torch <2.14
import torch


def f(x):
    if torch.backends.mps.is_available():  # GB0208
        return x
    return x * 2
""",
    """\
import torch


def f(x):
    torch.set_num_threads(1)  # GB0007
    return x * 2
""",
    """\
import torch


def f(x):
    if torch.is_inference_mode_enabled():  # GB0046
        return x
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def f(x):
    if torch.cuda.is_available() and x.device.type == "cuda":
        return x
    return x * 2
""",
    """\
import torch

DEVICES = torch.cuda.device_count()


def f(x):
    return x * DEVICES
""",
    """\
import torch


def f(x):
    if torch.is_grad_enabled() and torch.get_default_dtype() == x.dtype:
        return x
    return x * 2
""",
    """\
import torch


def f(x):
    torch.cuda.empty_cache()
    return x * 2
""",
    """\
import torch


def f(x):
    return x * torch.finfo(x.dtype).eps + torch.iinfo(torch.int8).max
""",
    """\
# torch >=2.9
import torch


def f(x):
    if torch.accelerator.is_available() or torch.xpu.is_available():
        return x
    return x * 2
""",
    """\
import torch


def f(x):
    if torch.backends.cudnn.enabled and torch.promote_types(x.dtype, torch.float16) == x.dtype:
        return x
    return x * 2
""",
)


def watches(name: str) -> bool:
    return name in QUERIES


def check_call(event: Call) -> Hit | None:
    return Hit(
        event,
        f"{code(event)} is not traced",
        "query it once, in `__init__` or at module level, and keep the answer",
        certainty(event),
        torch="<2.14" if event.qualname in TRACED_SINCE_2_14 else "",
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    plan = first_fit(hit, editor, guard_host)
    return plan if isinstance(plan, FixPlan) else first_fit(hit, editor, hoist_probe, number_as_operator)
