"""An option or a setting of the compiler that does not exist.

What: A key of `options=` that `torch._inductor.list_options()` does not have, or a value of another type than it
takes, and an assignment to a setting of `torch._dynamo.config` or `torch._inductor.config` that does not exist.

Why: torch raises RuntimeError for an option and AttributeError for a setting. Settings come and go between versions,
so this holds for torch 2.13 alone. Options for another backend than `inductor` are not looked at.

Fix: Use the name that the message shows, or remove the line.
"""

from __future__ import annotations

from graphdoctor.compile_names import bundled
from graphdoctor.nearest import hint
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage import COMPILE, Setting, Use, backend

from ._shared import code

CODE = "GD611"
NAME = "unknown-setting"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.13,<2.14"

BREAKS = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, options={"shape_paddin": True})  # raises


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, options={"triton.cudagraphs": "yes"})  # raises


def f(x):
    return x * 2
""",
    """\
import torch
import torch._dynamo

torch._dynamo.config.log_level = 10  # raises


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, options={"triton.cudagraphs": True, "max-autotune": False})


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, backend="eager", options={"ours": True})


def f(x):
    return x * 2
""",
    """\
import torch
import torch._dynamo

torch._dynamo.config.recompile_limit = 8
torch._inductor.config.triton.cudagraphs = False


def f(x):
    return x * 2
""",
    """\
import torch


def main(g, name):
    return torch.compile(g, options={name: True})


def f(x):
    return x * 2
""",
)


_PREFIXES = {"torch._dynamo.config.": "dynamo", "torch._inductor.config.": "inductor"}
_TYPES = {"bool": bool, "int": int, "float": float, "str": str}


def check_use(event: Use) -> Hit | None:
    step = event.step
    options = step.kwargs.get("options")
    if step.name not in COMPILE or options is None or backend(step) != "inductor":
        return None
    known = bundled().options
    for key, value in options.entries:
        if not isinstance(key.value, str):
            continue
        name = key.value.replace("-", "_")
        if name not in known:
            words = f"there is no option `{key.value}`: {hint(name, known, 'it raises RuntimeError')}"
            return Hit(event, words, "see `torch._inductor.list_options()`")
        wanted = known[name]
        if (
            wanted
            and isinstance(value.value, (bool, int, float, str))
            and not isinstance(value.value, _TYPES[wanted[0]])
        ):
            words = f"the option `{key.value}` takes a {wanted[0]}, and {code(event, value.node)} raises RuntimeError"
            return Hit(event, words, f"give it a {wanted[0]}")
    return None


def check_setting(event: Setting) -> Hit | None:
    prefix = next((p for p in _PREFIXES if event.name.startswith(p)), None)
    if prefix is None:
        return None
    known = bundled().dynamo if _PREFIXES[prefix] == "dynamo" else bundled().options.keys()
    name = event.name.removeprefix(prefix)
    if name in known:
        return None
    words = f"{code(event)} does not exist: {hint(name, known, 'the assignment raises AttributeError')}"
    return Hit(event, words, "remove it, or use the name that this version has")
