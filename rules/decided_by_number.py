"""A number that was read from a tensor, or a size that depends on data, decides what is traced.

What: After `n = x.max().item()`, `int(x.max())`, `for n in sizes.tolist()` or `n = len(mask.nonzero())`: `if n > 3`,
`range(n)`, `set` of such numbers, `[0] * n`, `F.interpolate` with `antialias=True` to such a size.

Why: By default the graph ends where the number is read or the size arises, and what follows is compiled for the
number, so again for others, until the limit of recompiles is reached. With `fullgraph=True` the number is kept as a
symbol, and compiling fails here, where the trace has to know it.

Fix: Give the number to the function as an argument, or decide without it: on the tensor with `torch.where`, by masks in
place of lengths, by a loop over a fixed range.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.branches.shortcuts import MORE_THAN_RETURN, NO_SHORTCUT, drop_shortcut
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.loops.kept_number import decide_by_tensor
from graphdoctor.fixes.rows.counted_experts import loop_over_all_counted
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.model.consequence import Consequence
from graphdoctor.static.domain.events import Decide
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

from ._shared import code

CODE = "GD217"
NAME = "decided-by-number"
SEVERITY = "warning"
GB_IDS = ("GB0124", "GB0033", "GB0036")
TORCH = ">=2.6"
FULLGRAPH = True

WORDING = {
    "if": "the truth of {} depends on",
    "range": "how often the loop over {} runs depends on",
    "set": "how many elements {} has depends on",
    "repeat": "how long {} is depends on",
    "size": "{} checks",
}

#: What reads a number from a tensor.
READERS = ("item", "tolist", "int", "float")

BREAKS = (
    """\
def f(x):
    n = x.max().item()  # GB0124
    if n > 3:  # flagged
        x = x / n
    return x
""",
    """\
# torch >=2.10
def f(x):
    for n in x[0].long().tolist():  # GB0033
        for _ in range(n):  # flagged
            x = x + 1
    return x
""",
    """\
# torch >=2.10
def f(x):
    lengths = [n + 1 for n in x.long().sum(1).tolist()]  # GB0033
    return x * len(set(lengths))  # flagged
""",
    """\
def f(x):
    n = int(x.max()) + 1  # GB0124
    return x + sum([2] * n)  # flagged
""",
    """\
import torch.nn.functional as F


def f(x):
    height = int(x.max()) + 2  # GB0124
    return F.interpolate(x[None, None], size=(height, 4), mode="bilinear", antialias=True)  # flagged
""",
    """\
def f(x):
    found = (x > 0.5).nonzero()  # GB0036
    if found.size(0) == 0:  # flagged
        return x
    return x[found[:, 0]]
""",
    """\
import torch


def chosen(x):
    return x[x > 0.5]  # GB0036


def f(x):
    found = chosen(x)
    if len(found) == 0:  # flagged
        return found
    return torch.sin(found)
""",
)

CLEAN = (
    """\
def f(x):
    for n in range(x.shape[0]):
        x = x + n
    return x if x.shape[1] > 4 else -x
""",
    """\
import torch


def f(x):
    return torch.where(x.max() > 3, x / x.max(), x)
""",
    """\
import torch.nn.functional as F


def f(x):
    return F.interpolate(x[None, None], size=(len(x) + 1, 4), mode="bilinear", antialias=True)
""",
    """\
def f(x, n=3):
    return x + sum([2] * n) if n > 2 else x
""",
    """\
import torch

RATES = [float(rate) for rate in torch.linspace(0, 0.5, 4)]


def f(x):
    for rate in RATES:
        if rate > 0.2:
            x = x * rate
    return x
""",
    """\
def f(x):
    lengths = [len(row) + 1 for row in x]
    return x * len(set(lengths))
""",
    """\
def f(x):
    chosen = x * (x > 0.5)
    return x if chosen.size(0) == 0 else x[:, 0]
""",
    """\
import torch


def f(x):
    chosen = torch.where(x > 0.5, x, 0)
    if len(chosen) == 0:
        return chosen
    return torch.sin(chosen)
""",
)


def check_decide(event: Decide) -> Hit | None:
    if any(_reads(node) for node in walk(event.node)):
        # Reported where it is read.
        return None
    return Hit(
        event,
        f"{WORDING[event.how].format(code(event))} a data-dependent number",
        "pass the number as an argument, or decide on the tensor (`torch.where`, masks, a loop over a fixed range)",
        # By default nothing breaks here, so it is reported only on lines that every trace reaches.
        "possible" if event.site.conditional else "certain",
        consequence=Consequence("recorded", by_default="other numbers recompile"),
    )


def _reads(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Call):
        return False
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    return isinstance(name, cst.Name) and name.value in READERS


def _asks_size(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Attribute):
        return node.attr.value in ("shape", "size", "numel")
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "len"


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    plan = first_fit(hit, editor, drop_shortcut, loop_over_all_rows, loop_over_all_counted, decide_by_tensor)
    if isinstance(plan, Refusal) and isinstance(hit.event, Decide) and hit.event.how == "range":
        return Refusal("Only you know how often the loop runs at most: run it that often, and mask what is too much.")
    if plan in (NO_SHORTCUT, MORE_THAN_RETURN) and any(map(_asks_size, walk(hit.place))):
        return Refusal(
            "It asks how many elements were selected: keep all of them and the mask, so that no size depends on data."
        )
    if plan == NO_SHORTCUT:
        return Refusal("Leave the number in its tensor, compute both sides, and choose with `torch.where`.")
    return plan
