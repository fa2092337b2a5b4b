"""A compiled model is compiled again.

What: `torch.compile` on the result of `torch.compile`, in a loop that binds the result to the name it compiles, on
what `accelerator.prepare` compiled, or before an `Accelerator` with a `dynamo_plugin` or `dynamo_backend` of its own.

Why: In torch 2.13 a compiled module that is compiled again is a plain function: it can be called, but `.train()`,
`.parameters()` and `.state_dict()` raise AttributeError, and the arguments of one of the two calls have no effect.
`accelerator.prepare` leaves a compiled module as it is, so the settings of its plugin are ignored. Two compiled
objects of one model (`a = torch.compile(m)`, `b = torch.compile(m)`) are fine and are not reported, and so is
compiling before or after `fabric.setup`, which unwraps and compiles again by itself.

Fix: Keep one of the two.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import (
    COMPILE,
    Operation,
    TrackedObject,
    Use,
    compiled,
    compiling_setup,
    same_run,
    target,
)
from graphdoctor.syntax.walk import find

from ._shared import code

CODE = "GD603"
NAME = "compiled-twice"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
model = torch.compile(model, backend="eager")
model = torch.compile(model, backend="eager", dynamic=True)  # flagged


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


def train(batches):
    model = nn.Linear(8, 8)
    for batch in batches:
        model = torch.compile(model, backend="eager")  # flagged
        model(batch)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


def main():
    from accelerate import Accelerator

    accelerator = Accelerator(dynamo_backend="inductor")
    model = torch.compile(nn.Linear(8, 8), mode="max-autotune")
    model = accelerator.prepare(model)  # flagged
    return model


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

net = nn.Linear(8, 8)
one = torch.compile(net, backend="eager")
other = torch.compile(net, backend="eager", dynamic=True)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

static = False
model = nn.Linear(8, 8)
if static:
    model = torch.compile(model, backend="eager", dynamic=False)
else:
    model = torch.compile(model, backend="eager")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
for step in range(3):
    if step == 1:
        model = torch.compile(model, backend="eager")
    model(torch.rand(4, 8))


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

for width in (2, 4):
    model = nn.Linear(width, 8)
    model = torch.compile(model, backend="eager")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


def main():
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu")
    model = torch.compile(nn.Linear(8, 8), backend="eager")
    return fabric.setup(model)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


def main(args):
    from accelerate import Accelerator

    accelerator = Accelerator(dynamo_backend=args.dynamo_backend)
    model = torch.compile(nn.Linear(8, 8))
    return accelerator.prepare(model)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


def main(args):
    from accelerate import Accelerator

    accelerator = Accelerator(dynamo_backend=None if args.manual else "inductor")
    model = nn.Linear(8, 8)
    if args.manual:
        model = torch.compile(model)
    return accelerator.prepare(model)


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name in (".prepare", ".prepare_model"):
        return _prepared(event)
    if step.name not in COMPILE:
        return None
    tracked = target(step)
    first = compiled(tracked) if tracked is not None else None
    if tracked is None:
        return None
    if first is not None:
        sure = same_run(first.path, step.path)
        return sure and Hit(event, f"{code(event)} compiles what is already compiled", "keep one of the two", sure)
    launched = next((s for s in tracked.steps if compiling_setup(s)), None)
    if launched is not None:
        sure = same_run(launched.path, step.path)
        words = f"{code(event)} compiles what `{launched.name[1:]}` of the Accelerator compiled"
        return sure and Hit(event, words, "remove it, or the Accelerator's `dynamo_plugin`", sure)
    if _rebound(event, tracked):
        words = f"from the second iteration of the loop {code(event)} compiles what is already compiled"
        return Hit(event, words, "compile once, before the loop")
    return None


def _prepared(event: Use) -> Hit | None:
    step = event.step
    if not compiling_setup(step):
        return None
    for tracked in step.args:
        own = compiled(tracked)
        if own is not None and own.path and _chosen(step):
            # Which of the two compiles may be one decision.
            continue
        sure = same_run(own.path, step.path) if own is not None else None
        if sure:
            words = (
                f"the model is compiled before {code(event)}, so the compile settings of the Accelerator are ignored"
            )
            return Hit(event, words, "remove `torch.compile`, or the Accelerator's `dynamo_plugin`", sure)
    return None


def _chosen(step: Operation) -> bool:
    """Whether an option of the Accelerator depends on a condition."""
    made = compiling_setup(step)
    arguments = made.node.args if made is not None and isinstance(made.node, cst.Call) else ()
    return any(isinstance(argument.value, cst.IfExp) for argument in arguments)


def _rebound(event: Use, tracked: TrackedObject) -> bool:
    """Whether the innermost loop binds the result to the name that is compiled, which it does not bind otherwise."""
    step: Operation = event.step
    statement = event.site.statement
    if not step.loops or step.sometimes or step.name == ".compile":
        return False
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    made = tracked.maker.loops if tracked.maker is not None else None
    if made is None or len(made) >= len(step.loops):
        return False
    targets = [t for s in statement.body if isinstance(s, cst.Assign) for t in s.targets]
    names = [t.target for t in targets if isinstance(t.target, cst.Name) and t.target.deep_equals(tracked.node)]
    return bool(names) and not _binds_otherwise(step.loops[-1], names[0].value, targets)


def _binds_otherwise(loop: cst.For | cst.While, name: str, targets: Sequence[cst.AssignTarget]) -> bool:
    """Whether ``loop`` binds ``name`` elsewhere than in ``targets``, so that each round has another object."""
    bound = [loop.target] if isinstance(loop, cst.For) else []
    bound += [node.target for node in find(loop.body, cst.AssignTarget) if not any(node is each for each in targets)]
    bound += [inner.target for inner in find(loop.body, cst.For)]
    return any(found.value == name for target in bound for found in find(target, cst.Name))
