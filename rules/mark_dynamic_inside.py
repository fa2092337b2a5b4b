"""What is compiled, and how, is said inside the compiled function.

What: `torch._dynamo.mark_dynamic`, `maybe_mark_dynamic`, `mark_unbacked` and `mark_static_address`, and
`torch.compiler.set_stance`, in code that is compiled.

Why: What varies, which memory stays, and whether to compile at all must be known before the graph is traced, and Dynamo
raises AssertionError where it meets the call. `mark_static` is allowed inside.

Fix: Call it before the compiled function, on the tensors that it gets; put `with torch.compiler.set_stance(...)` around
the call.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import Hit

from ._shared import certainty, code

CODE = "GD622"
NAME = "mark-dynamic-inside"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def f(x):
    torch._dynamo.mark_dynamic(x, 0)  # raises
    return x * 2
""",
    """\
import torch


def f(x):
    torch._dynamo.mark_static_address(x)  # raises
    return x * 2
""",
    """\
import torch


def f(x):
    with torch.compiler.set_stance("force_eager"):  # raises
        return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch._dynamo


def f(x):
    return x * 2


def graphdoctor_target():
    x = torch.rand(4, 8)
    torch._dynamo.mark_static_address(x)
    return f, (x,)
""",
    """\
import torch
import torch._dynamo


def f(x):
    return x * 2


def graphdoctor_target():
    x = torch.rand(4, 8)
    torch._dynamo.mark_dynamic(x, 0)
    return f, (x,)
""",
    """\
import torch
import torch._dynamo


def f(x):
    torch._dynamo.mark_static(x, 0)
    return x * 2
""",
    """\
import torch


def g(x):
    return x * 2


def f(x):
    return x * 2


def graphdoctor_target():
    with torch.compiler.set_stance("default"):
        torch.compile(g, backend="eager")(torch.rand(4))
    return f, (torch.rand(4, 8),)
""",
)


_MODULES = ("torch._dynamo", "torch._dynamo.decorators")
_MARKS = ("mark_dynamic", "maybe_mark_dynamic", "mark_unbacked", "mark_static_address")


def watches(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return (module in _MODULES and last in _MARKS) or name == "torch.compiler.set_stance"


def check_call(event: Call) -> Hit | None:
    if event.site.assumed:
        # Who marks tensors or sets a stance in a forward pass compiles what that calls.
        return None
    words = f"{code(event)} raises AssertionError while the function is traced"
    return Hit(event, words, "call it before the compiled function", certainty(event))
