"""A collective that Dynamo does not trace.

What: `barrier`, `broadcast`, `reduce`, `gather`, `scatter`, `reduce_scatter`, `all_to_all`, the `*_object`
collectives, `async_op=True`, `new_group` and the functions of `torch.distributed.nn`. `all_reduce`,
`all_gather`, `all_gather_into_tensor`, `reduce_scatter_tensor`, `all_to_all_single`, `get_rank` and
`get_world_size` are traced.

Why: Dynamo rewrites the collectives it knows into functional ones, which belong to the graph. Any other
splits it, and on several ranks, graph breaks at different places can deadlock.

Fix: Use the functional collectives of `torch.distributed._functional_collectives` or one of the traced ones:
a broadcast is an `all_reduce` of a tensor that is zero on the other ranks. Put barriers and object
collectives in the training loop.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.collectives import broadcast_in_graph, wait_at_once
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.values import Const
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD510"
NAME = "untraced-collective"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0172", "GB0088")
TORCH = ">=2.6"
SETUP = True

PACKAGES = ("torch.distributed", "torch.distributed.distributed_c10d")
UNTRACED = (
    "barrier", "monitored_barrier", "broadcast", "reduce", "gather", "scatter", "reduce_scatter", "all_to_all",
    "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list", "new_group",
    "init_process_group", "destroy_process_group", "send", "recv", "isend", "irecv",
)  # fmt: skip
BLOCKING = ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single", "all_gather")

GROUP = """\
import tempfile

import torch
import torch.distributed as dist

if not dist.is_initialized():
    file = tempfile.mkstemp()[1]
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=0, world_size=1)
"""

BREAKS = (
    GROUP
    + """\


def f(x):
    dist.barrier()  # GB0007
    return x * 2
""",
    GROUP
    + """\


def f(x):
    y = x * 2
    dist.broadcast(y, 0)  # GB0007
    return y
""",
    GROUP
    + """\


def f(x):
    y = x * 2
    dist.all_reduce(y, async_op=True)  # GB0172
    return y
""",
    GROUP
    + """\
# torch >=2.13

import torch.distributed.nn


def f(x):
    return torch.distributed.nn.all_reduce(x)  # GB0088
""",
)

CLEAN = (
    GROUP
    + """\


def f(x):
    y = x * 2
    dist.all_reduce(y, async_op=False)
    return y
""",
    GROUP
    + """\


def f(x):
    y = x * dist.get_world_size()
    dist.all_reduce(y)
    return y
""",
    GROUP
    + """\
# torch >=2.9


def f(x):
    y = torch.empty_like(x)
    dist.all_gather_into_tensor(y, x)
    return y + dist.get_rank()
""",
    GROUP
    + """\

import torch.distributed._functional_collectives as functional


def f(x):
    return functional.all_reduce(x, "sum", dist.group.WORLD)
""",
    GROUP
    + """\

dist.barrier()


def f(x):
    return x.scatter(0, torch.zeros(1, 8, dtype=torch.long), 1.0)
""",
)


def watches(name: str) -> bool:
    return name.rpartition(".")[0] in PACKAGES or name.startswith("torch.distributed.nn.")


def check_call(event: Call) -> Hit | None:
    package, _, name = event.qualname.rpartition(".")
    untraced = package in PACKAGES and name in UNTRACED
    asynchronous = package in PACKAGES and name in BLOCKING and event.kwargs.get("async_op") == Const(True)
    differentiable = event.receiver is None and event.qualname.startswith("torch.distributed.nn.")
    if not (untraced or asynchronous or differentiable):
        return None
    what, suggestion = (
        (
            "gives a handle to wait for (`async_op=True`)",
            "leave `async_op` out: the graph waits where the result is used",
        )
        if asynchronous
        else ("is a collective", "use a traced collective (`all_reduce`, `all_gather_into_tensor`), or call it outside")
    )
    return Hit(
        event,
        f"{code(event)} {what}, which Dynamo does not trace",
        suggestion,
        certainty(event),
        torch="" if untraced or asynchronous else ">=2.13",
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    asynchronous = isinstance(hit.event, Call) and hit.event.kwargs.get("async_op") == Const(True)
    return first_fit(hit, editor, wait_at_once if asynchronous else broadcast_in_graph)
