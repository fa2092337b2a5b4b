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

from graphdoctor.static.domain.events import Iterate
from graphdoctor.static.rule import Hit

from ._shared import certainty, code

CODE = "GD304"
NAME = "data-dependent-loop"
SEVERITY = "error"
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
)


def check_iterate(event: Iterate) -> Hit:
    return Hit(
        event,
        f"the length of the loop over {code(event)} is data-dependent: each length is compiled separately, and "
        "`fullgraph=True` fails",
        "loop over what is fixed (all experts) and select by a mask, or work on the whole tensor",
        certainty(event, event.value),
    )
