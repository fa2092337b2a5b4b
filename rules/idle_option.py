"""An argument of torch.compile that changes nothing.

What: A flag in `options=` that is on by default, such as `{"shape_padding": True}`, and a `mode` for a backend
that reads none (`eager`, `aot_eager`, `cudagraphs`).

Why: Guides recommend options that are on by now, so the line says nothing; in torch 2.13 `shape_padding` is on. A
mode is a set of options of `inductor`; other backends of torch ignore it, even one that does not exist.

Fix: Remove it.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import COMPILE, Use, backend
from graphdoctor.target_torch.compile_names import bundled

CODE = "GD612"
NAME = "idle-option"
SEVERITY = "info"
GB_IDS = ()
TORCH = ">=2.13,<2.14"

BREAKS = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, options={"shape_padding": True})  # flagged


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, backend="aot_eager", mode="max-autotune")  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, options={"shape_padding": False})


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode="max-autotune")


def f(x):
    return x * 2
""",
    """\
import torch


def main(g):
    return torch.compile(g, backend="our_accelerator", mode="max-autotune")


def f(x):
    return x * 2
""",
)


_WITHOUT_MODES = ("eager", "aot_eager", "cudagraphs")


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name not in COMPILE:
        return None
    if backend(step) in _WITHOUT_MODES and isinstance(step.option("mode"), str):
        return Hit(event, f"the backend `{backend(step)}` ignores `mode`", "remove `mode`")
    options = step.kwargs.get("options")
    if options is None or backend(step) != "inductor":
        return None
    known = bundled()
    for key, value in options.entries:
        default = known.options.get(key.value.replace("-", "_")) if isinstance(key.value, str) else None
        # Who writes what is off by default wants it to stay off.
        if default and default[1] is True and value.value is True:
            words = f"the option `{key.value}` is on by default"
            return Hit(event, words, "remove it")
    return None
