"""A compiled model is moved, converted, sharded or quantised after it was called.

What: A compiled model that is called, and then gets `.half()`, `.bfloat16()`, `.double()`, `.cuda()`, `.to(...)`,
`fully_shard`, `quantize_` or `quantize_dynamic`.

Why: The graph was compiled for what the model was, and the next call compiles it again. `torch.compile` itself
compiles nothing, so the order of these lines does not matter before the first call, and there it is not reported.

Fix: Do it before the first call; the customary order is quantise, shard, compile.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.script_expressions import QUANTISE
from graphdoctor.static.usage import FULLY_SHARD, Step, Thing, Use, compiled, together

from ._shared import code

CODE = "GD607"
NAME = "changed-after-first-call"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
model(torch.rand(4, 8))
model.double()  # flagged
model(torch.rand(4, 8).double())


def f(x):
    return x * 2
""",
    """\
import torch


def main(net, batch):
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model = torch.compile(net)
    model(batch)
    quantize_(model, Int8WeightOnlyConfig())  # flagged
    return model(batch)


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
model.double()
model(torch.rand(4, 8).double())


def f(x):
    return x * 2
""",
    """\
import torch


def main(net, batch):
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    quantize_(net, Int8WeightOnlyConfig())
    model = torch.compile(net)
    return model(batch)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
model(torch.rand(4, 8))
model.double()
model = torch.compile(model, backend="eager")


def f(x):
    return x * 2
""",
)


#: Methods that change what the weights are.
_METHODS = (".half", ".bfloat16", ".double", ".float", ".cuda")


def check_use(event: Use) -> Hit | None:
    step = event.step
    thing = _changed(step)
    made = compiled(thing) if thing is not None else None
    if thing is None or made is None:
        return None
    called = next((s for s in thing.steps[thing.steps.index(made) :] if _is_call(s, thing)), None)
    sure = together(called.path, step.path) if called is not None else None
    return sure and Hit(
        event,
        f"{code(event)} changes a model that was compiled and called: its next call compiles again",
        "move it before the first call",
        sure,
    )


def _changed(step: Step) -> Thing | None:
    if step.name in (*FULLY_SHARD, *QUANTISE):
        return step.argument(0, "model", "module")
    if step.name in _METHODS or (step.name == ".to" and (step.args or step.kwargs)):
        return step.receiver
    return None


def _is_call(step: Step, thing: Thing) -> bool:
    return step.name == ".__call__" and step.receiver is not None and step.receiver.number == thing.number
