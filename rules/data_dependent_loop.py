"""A loop runs once for each row of a tensor whose length depends on the data.

What: `for i in mask.nonzero():`, also through `enumerate`, `list`, a comprehension, and for `unique`, `bincount`,
`argwhere`, `torch.where` with one argument and `x[mask]`.

Why: Dynamo unrolls the loop, so it has to know how many rows there are. By default the graph ends before, where the
tensor is made, and what follows is compiled again for each new length, until the limit of recompiles is reached.
With `fullgraph=True` compiling fails here.

Fix: Loop over what is fixed, as over all experts, and let each iteration select its rows by a mask; or work on the
whole tensor.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.model.consequence import Consequence
from graphdoctor.static.domain.events import Iterate
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code

CODE = "GD304"
NAME = "data-dependent-loop"
SEVERITY = "warning"
GB_IDS = ("GB0036",)
TORCH = ">=2.6"

BREAKS = (
    """\
def f(x):
    hits = (x[:, 0] > 1).nonzero()  # GB0036
    for row in hits:  # flagged
        x = x + row
    return x
""",
    """\
def f(x):
    ends = x.long().flatten().bincount().cumsum(0)  # GB0036
    for position, end in enumerate(ends):  # flagged
        x = x + position * end
    return x
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        out, chosen = torch.zeros_like(x), x[:, :4].argmax(-1)
        found = chosen.unique()  # GB0036
        for e in found:  # flagged
            rows = (chosen == e).nonzero()[:, 0]  # GB0036 GB7000
            out.index_add_(0, rows, self.experts[e](x[rows]))
        return out
""",
)

CLEAN = (
    """\
def f(x):
    for row in x:
        x = x + row
    return x
""",
    """\
def f(x):
    for row, weight in enumerate(x.softmax(-1).unbind(0)):
        x = x + row * weight
    return x
""",
    """\
def f(x):
    chosen = x[:, 0].topk(2).indices
    for row in chosen:
        x = x + row
    return x
""",
    """\
import torch


def f(x):
    chosen = x[:, :4].argmax(-1)
    for e in range(4):
        x = torch.where((chosen == e)[:, None], x * e, x)
    return x
""",
)


def check_iterate(event: Iterate) -> Hit:
    return Hit(
        event,
        f"the length of the loop over {code(event)} is data-dependent",
        "loop over a fixed range (all experts) and select by a mask, or work on the whole tensor",
        certainty(event, event.value),
        consequence=Consequence("recorded", by_default="each length is compiled separately"),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, loop_over_all_rows)
