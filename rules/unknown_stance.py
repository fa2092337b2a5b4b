"""A stance that torch.compile does not know.

What: `torch.compiler.set_stance("...")` with another name than `default`, `force_eager`, `eager_on_recompile`,
`fail_on_recompile`, `eager_then_compile` and `aot_eager_then_compile`.

Why: The line itself says nothing; the next compiled call raises RuntimeError. Note that `fail_on_recompile` raises on
the first compilation too: set it after the warm-up.

Fix: Use the name that the message shows.
"""

from __future__ import annotations

from graphdoctor.config.suggestions import hint
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Use
from graphdoctor.target_torch.compile_names import bundled, is_known

CODE = "GD621"
NAME = "unknown-stance"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.13,<2.14"

BREAKS = (
    """\
import torch


def main():
    torch.compiler.set_stance("error_on_recompile")  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def main():
    torch.compiler.set_stance("fail_on_recompile")


def f(x):
    return x * 2
""",
    """\
import torch


def main(stance):
    torch.compiler.set_stance(stance)


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    stance = event.step.argument(0, "stance") if event.step.name == "torch.compiler.set_stance" else None
    known = bundled().stances
    if stance is None or not isinstance(stance.value, str) or is_known("stances", stance.value):
        return None
    words = f"there is no stance `{stance.value}`: {hint(stance.value, known, 'the next compiled call raises')}"
    return Hit(event, words, f"the stances are {', '.join(known)}")
