"""An option or a setting of the compiler that does not exist.

What: A key of `options=` that the backend `inductor` does not have, or a value of another type than it takes, and an
assignment to a setting of `torch._dynamo.config` or `torch._inductor.config` that does not exist.

Why: torch raises RuntimeError for an option and AttributeError for a setting. A name counts as unknown when neither the
installed torch nor any supported version has it, aliases included. Without an installed torch it is a warning. Options
for another backend than `inductor` are not looked at, nor what stands in a `try`, behind `hasattr` or a test of the
version, or on a line with `# type: ignore`: such code knows that the setting comes and goes.

Fix: Use the name that the message shows, or remove the line.
"""

from __future__ import annotations

import re

from graphdoctor.config.suggestions import slip
from graphdoctor.model.findings import Severity
from graphdoctor.static.domain.events import Event
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import COMPILE, Setting, Use, backend
from graphdoctor.target_torch.compile_names import bundled, installed, is_known

from ._shared import code

CODE = "GD611"
NAME = "unknown-setting"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

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
# torch >=2.9
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
    # Aliases, which torch keeps for older code.
    """\
import torch
import torch._dynamo

torch._dynamo.config.cache_size_limit = 64
torch._dynamo.config.accumulated_cache_size_limit = 256
torch._inductor.config.force_disable_caches = False


def f(x):
    return x * 2
""",
    # Taken out by torch.compile itself; a mode of gpt-fast; what vLLM sets.
    """\
# torch >=2.9
import torch
import torch._inductor.config

torch._inductor.config.coordinate_descent_tuning = True
torch._inductor.config.triton.unique_kernel_names = True
torch._inductor.config.fx_graph_cache = True
torch._inductor.config.max_autotune_gemm_backends = "ATEN,TRITON"
torch._inductor.config.trace.enabled = False
compiled = torch.compile(lambda x: x, options={"guard_filter_fn": lambda guards: [True for _ in guards]})


def f(x):
    return x * 2
""",
    # Settings of other versions, by code that knows it.
    """\
import torch
import torch._dynamo
from torch._inductor import config as inductor_config

try:
    torch._dynamo.config.long_gone = True
except AttributeError:
    pass
if hasattr(inductor_config, "not_yet_there"):
    inductor_config.not_yet_there = True
if torch.__version__ < "2.0":
    torch._dynamo.config.log_level = 10


def f(x):
    return x * 2
""",
    """\
import contextlib
import torch
import torch._dynamo


def prepare():
    if not hasattr(torch._dynamo.config, "long_gone"):
        return
    torch._dynamo.config.long_gone = True


prepare()
with contextlib.suppress(AttributeError):
    torch._dynamo.config.long_gone = True


def f(x):
    return x * 2
""",
)


#: What tests of code that knows several versions look at.
_CAREFUL = re.compile(
    r"hasattr|getattr|\bin dir\(|__dict__|version|torch|config|_avail|^try$|^except at", re.IGNORECASE
)
_IGNORED = re.compile(r"#.*\btype: ?ignore")
_CONFIGS = {"torch._dynamo.config.": "dynamo", "torch._inductor.config.": "inductor"}
_TYPES = {"bool": bool, "int": int, "float": float, "str": str}


def check_use(event: Use) -> Hit | None:
    step = event.step
    options = step.kwargs.get("options")
    if step.name not in COMPILE or options is None or backend(step) != "inductor" or _is_careful(event):
        return None
    known = bundled().options
    for key, value in options.entries:
        if not isinstance(key.value, str):
            continue
        name = key.value.replace("-", "_")
        if not is_known("options", name):
            return _hit(
                event, f"there is no option `{key.value}`", slip(name, known), "torch.compile raises RuntimeError"
            )
        kind = known.get(name)
        if (
            kind is not None
            and isinstance(value.value, (bool, int, float, str))
            and not isinstance(value.value, _TYPES[kind[0]])
        ):
            words = f"the option `{key.value}` takes a {kind[0]}, and {code(event, value.node)} raises RuntimeError"
            return Hit(event, words, f"give it a {kind[0]}")
    return None


def check_setting(event: Setting) -> Hit | None:
    prefix = next((p for p in _CONFIGS if event.name.startswith(p)), None)
    if prefix is None:
        return None
    name = event.name.removeprefix(prefix)
    if name.startswith("__") or is_known(_CONFIGS[prefix], name) or _is_careful(event):
        return None
    meant = slip(name, getattr(bundled(), _CONFIGS[prefix]))
    return _hit(event, f"{code(event)} does not exist", meant, "the assignment raises AttributeError")


def _is_careful(event: Event) -> bool:
    """Whether the code expects that the name may not be there."""
    if any(_CAREFUL.search(guard) for guard in event.site.guards):
        return True
    module = event.site.module
    return any(_IGNORED.search(line) for line in _lines(event, module.lines))


def _lines(event: Event, lines: tuple[str, ...]) -> tuple[str, ...]:
    place = event.site.module.location(event.node)
    return lines[place.line - 1 : place.end_line]


def _hit(event: Event, words: str, meant: str | None, otherwise: str) -> Hit:
    # Without an installed torch, a newer one than those that are known may have it: no more than a warning then.
    certain = installed() is not None
    severity: Severity | None = None if certain else "warning"
    versions = f"torch {bundled().versions[0]} to {bundled().versions[-1]}"
    end = f"did you mean {meant!r}?" if meant and certain else f"no version from {versions} has it, and {otherwise}"
    return Hit(event, f"{words}: {end}", "remove it, or use a name that torch has", severity=severity)
