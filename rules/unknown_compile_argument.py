"""A mode, a backend or an argument that torch.compile does not know.

What: A string as `mode` or `backend` of `torch.compile`, `model.compile`, Accelerate's `TorchDynamoPlugin` or the
`dynamo_backend` of its `Accelerator`, or a keyword argument of `torch.compile`, that no supported torch has. Also a
second argument of `torch.compile` without its name: `torch.compile(model, "max-autotune")`.

Why: It raises: RuntimeError for a mode, InvalidBackend for a backend, TypeError for an argument. Backends may be
registered by other packages, so of backends only removed ones (`aot_nvfuser`, `nvfuser`, `ofi`, ...) and names that
are nearly those of torch are reported. A mode is read by the backend `inductor` only.

Fix: Use the name that the message shows. What replaced `aot_nvfuser` is the default, `inductor`.
"""

from __future__ import annotations

import difflib

import libcst as cst

from graphdoctor.config.suggestions import hint
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import COMPILE, Operation, TrackedObject, Use, backend
from graphdoctor.target_torch.compile_names import bundled, is_known

from ._shared import code

CODE = "GD610"
NAME = "unknown-compile-argument"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode="reduce_overhead")  # raises


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, backend="aot_nvfuser")  # raises


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, full_graph=True)  # raises


def f(x):
    return x * 2
""",
    """\
def main():
    from accelerate.utils import TorchDynamoPlugin

    return TorchDynamoPlugin(backend="aot_nvfuser")  # flagged


# torch.compile is not called in this file.


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode="max-autotune-no-cudagraphs")


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, backend="eager", mode="ours")


def f(x):
    return x * 2
""",
    """\
import torch


def main(g):
    return torch.compile(g, backend="our_accelerator")


def f(x):
    return x * 2
""",
    """\
import torch


def main(g, mode):
    return torch.compile(g, mode=mode)


def f(x):
    return x * 2
""",
    """\
import torch


def main(g):
    from accelerate.utils import TorchDynamoPlugin

    return TorchDynamoPlugin(backend="INDUCTOR", mode="max-autotune")


def f(x):
    return x * 2
""",
)


#: Backends that torch had, and has no more.
REMOVED = frozenset((
    "aot_nvfuser", "aot_cudagraphs", "aot_torchxla_trace_once", "aot_torchxla_trivial", "nvfuser", "nvprims_nvfuser",
    "nvprims_aten", "prims_nvfuser", "ofi", "fx2trt", "tensorrt", "torchxla_trace_once", "torchxla_trivial",
))  # fmt: skip

#: Arguments of ``TorchDynamoPlugin``.
_PLUGIN = ("accelerate.utils.TorchDynamoPlugin", "accelerate.TorchDynamoPlugin")


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name in COMPILE:
        unknown = _argument(step) if step.name == "torch.compile" else None
        return (unknown and Hit(event, unknown, _advice(step))) or _names(event, "backend", backend(step))
    if step.name in _PLUGIN:
        return _names(event, "backend", step.option("backend"))
    if step.name in ("accelerate.Accelerator", "accelerate.accelerator.Accelerator"):
        return _names(event, "dynamo_backend", step.option("dynamo_backend"))
    return None


def _argument(step: Operation) -> str | None:
    if len(step.args) > 1 and isinstance(step.node, cst.Call) and not any(arg.star for arg in step.node.args):
        return "`torch.compile` takes the model alone without a name, and raises TypeError for a second such argument"
    known = bundled().arguments
    wrong = next((n for n in step.kwargs if not n.startswith("*") and not is_known("arguments", n)), None)
    return wrong and f"`torch.compile` has no argument `{wrong}`: {hint(wrong, known, 'it raises TypeError')}"


def _advice(step: Operation) -> str:
    second = step.args[1].value if len(step.args) > 1 else None
    word = next((word for word in ("modes", "backends") if isinstance(second, str) and is_known(word, second)), None)
    return f"write `{word.removesuffix('s')}={second!r}`" if word else "see `help(torch.compile)`"


def _names(event: Use, word: str, name: object) -> Hit | None:
    """A backend that does not exist, else a mode."""
    known = bundled()
    value: TrackedObject | None = event.step.kwargs.get(word)
    if isinstance(name, str) and not is_known("backends", name.lower()):
        near = difflib.get_close_matches(name.lower(), known.backends, n=1, cutoff=0.8)
        registers = "register_backend" in event.site.module.text
        if name.lower() in REMOVED:
            return Hit(event, f"{code(event, value.node if value else None)} is no longer a backend", 'use "inductor"')
        if near and not registers:
            return Hit(event, f"there is no backend `{name}`: did you mean {near[0]!r}?", "use one that torch has")
    mode = event.step.option("mode")
    if isinstance(mode, str) and not is_known("modes", mode) and isinstance(name, str) and name.lower() == "inductor":
        advice = f"the modes are {', '.join(known.modes)}"
        return Hit(event, f"there is no mode `{mode}`: {hint(mode, known.modes, 'it raises RuntimeError')}", advice)
    return None
