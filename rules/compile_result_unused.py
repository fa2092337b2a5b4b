"""The result of `torch.compile` is thrown away.

What: `torch.compile(model)` as a statement of its own, or a function that binds the result to a name of its own which
nothing reads after that: `for layer in model.layers: layer = torch.compile(layer)`. Or a trainer that was made with the
model before and goes on with it, while nothing calls the compiled one. Or a name for what `model.compile()` gives.

Why: `torch.compile` returns a compiled wrapper and leaves its argument as it is. The program goes on with the
uncompiled model, without any message.

Fix: Use the result, `model = torch.compile(model)`, or compile in place with `model.compile()`. Compile before the
trainer gets the model.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.core.scope import names
from graphdoctor.static.domain.events import Compile
from graphdoctor.static.rule import Hit
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import children, find, walk

from ._shared import code, function_named

CODE = "GD601"
NAME = "compile-result-unused"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
torch.compile(model, backend="eager")  # flagged


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
for layer in model:
    layer = torch.compile(layer, backend="eager")  # flagged


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn


def prepare(model):
    model.eval()
    model = torch.compile(model, backend="eager")  # flagged


model = nn.Linear(8, 8)
prepare(model)


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn


class Trainer:
    def __init__(self, model):
        self.model = model

    def train(self, x):
        return self.model(x)


model = nn.Linear(8, 8)
trainer = Trainer(model)
model = torch.compile(model, backend="eager")  # flagged
model.eval()
trainer.train(torch.rand(4, 8))


def f(x):
    return trainer.train(x)
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
model = torch.compile(model, backend="eager")


def f(x):
    return model(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        return x * 2


model = Net()
model.compile(backend="eager")


def f(x):
    return model(x)
""",
    """\
import torch


@torch.compile(backend="eager")
def f(x):
    return x * 2
""",
    """\
import torch


def f(x):
    return x * 2


def compiled():
    return torch.compile(f, backend="eager")
""",
    """\
import torch
import torch.nn as nn


def compiled(model):
    model = torch.compile(model, backend="eager")
    return model


model = compiled(nn.Linear(8, 8))


def f(x):
    return model(x)
""",
    """\
import torch
import torch.nn as nn

layers = []
for layer in nn.Sequential(nn.Linear(8, 8), nn.ReLU()):
    layer = torch.compile(layer, backend="eager")
    layers.append(layer)


def f(x):
    for layer in layers:
        x = layer(x)
    return x
""",
    """\
import torch
import torch.nn as nn


def train(model, steps):
    for step in range(steps):
        if step > 0:
            model(torch.rand(4, 8))
        if step == 0:
            model = torch.compile(model, backend="eager")


train(nn.Linear(8, 8), 3)


def f(x):
    return x * 2
""",
)


def check_compile(event: Compile) -> Hit | None:
    if event.form == "method":
        return _none_bound(event)
    if event.form != "call":
        return None
    if not event.used:
        return Hit(
            event,
            f"the result of {code(event)} is not used, so nothing is compiled",
            "write `model = torch.compile(model)`, or compile in place with `model.compile()`",
        )
    trainer, given = _given_before(event)
    if trainer:
        return Hit(
            event,
            f"`{trainer}` got `{given}` before {code(event)}, and nothing calls the compiled one",
            f"compile before `{trainer}` is made, or in place with `{given}.compile()`",
            "likely",
        )
    name = _dropped(event)
    if not name:
        return None
    return Hit(
        event,
        f"nothing reads `{name}` after {code(event)}, so nothing is compiled",
        "return the result, store it where the model is kept, or compile in place with `model.compile()`",
        "likely",
    )


def _none_bound(event: Compile) -> Hit | None:
    """``model = model.compile()`` binds None: the method compiles in place, and returns nothing."""
    statement = event.site.statement
    bodies = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    if not any(isinstance(each, (cst.Assign, cst.AnnAssign)) and each.value is event.node for each in bodies):
        return None
    return Hit(
        event,
        f"{code(event)} compiles in place and gives None, which is what the name is bound to",
        "write `model.compile()` as a statement of its own, and go on with `model`",
    )


def _dropped(event: Compile) -> str:
    """The name that the result is bound to, where it is one of the function, or of a loop, that nothing reads then."""
    source, statement, function = event.site.module, event.site.statement, function_named(event)
    name = _bound_name(event)
    if not name:
        return ""
    scope = function.body if function is not None else source.tree
    loops = [node for node in _above(scope, statement) if isinstance(node, (cst.For, cst.While))]
    binding = [loop for loop in loops if isinstance(loop, cst.For) and name in names(loop.target)]
    declared = [node for kind in (cst.Global, cst.Nonlocal) for node in find(scope, kind)]
    if any(name in names(node) for node in declared):
        return ""
    if function is None and not binding and not _runs_plain(event, scope):
        # Who imports the module may read it.
        return ""
    # In another loop it is read in the next round by what stands before the statement.
    again = next((loop for loop in loops if loop not in binding), None)
    place = source.location(event.node if again is None else again)
    since = (place.end_line, place.end_column) if again is None else (place.line, place.column)
    return "" if any(at is None or at >= since for at in _reads(source, scope, name)) else name


def _given_before(event: Compile) -> tuple[str, str]:
    """``trainer`` and ``model`` of ``trainer = Trainer(model)``, where ``trainer.train()`` follows the statement,
    and only attributes of the compiled model are read.
    """
    source, function, name = event.site.module, function_named(event), _bound_name(event)
    scope = function.body if function is not None else source.tree
    first = event.node.args[0].value if isinstance(event.node, cst.Call) and event.node.args else None
    if not name or not isinstance(first, cst.Name):
        return "", ""
    if any(isinstance(node, (cst.For, cst.While)) for node in _above(scope, event.site.statement)):
        return "", ""
    start, end = source.location(event.site.statement).line, source.location(event.site.statement).end_line
    later = [node for node in find(scope, cst.Attribute) if source.location(node).line > end]
    asked = {id(node.value) for node in later if node.attr.value not in ("forward", "__call__")}
    functions: list[cst.FunctionDef | cst.Lambda] = [*find(scope, cst.FunctionDef), *find(scope, cst.Lambda)]
    own = {id(n) for node in functions if _takes(node, name) for n in walk(node)}
    at_any_time = {id(n) for node in functions for n in walk(node)} - own
    ignored = asked | own | _no_reads(scope)
    for node in find(scope, cst.Name):
        since = id(node) in at_any_time or source.location(node).line > end
        if node.value == name and since and id(node) not in ignored:
            return "", ""
    given = ""
    for made in find(scope, cst.Assign):
        target, value = made.targets[0].target, made.value
        if source.location(made).line >= start or not isinstance(target, cst.Name):
            continue
        if target.value == first.value:
            given = ""
        elif isinstance(value, cst.Call) and any(_is_named(arg.value, first.value) for arg in value.args):
            given = target.value
    return (given, first.value) if any(_is_named(node.value, given) for node in later) else ("", "")


def _takes(function: cst.FunctionDef | cst.Lambda, name: str) -> bool:
    return any(param.name.value == name for param in find(function.params, cst.Param))


def _is_named(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _runs_plain(event: Compile, module: cst.CSTNode) -> bool:
    """Whether the top level calls the model itself after the statement: ``fast = torch.compile(model); model(x)``."""
    source, call = event.site.module, event.node
    first = call.args[0].value if isinstance(call, cst.Call) and call.args else None
    if not isinstance(first, cst.Name):
        return False
    inner = {id(found) for kind in (cst.FunctionDef, cst.Lambda) for node in find(module, kind) for found in walk(node)}
    end = source.location(event.site.statement).end_line
    calls = [node for node in find(module, cst.Call) if id(node) not in inner and source.location(node).line > end]
    return any(isinstance(node.func, cst.Name) and node.func.value == first.value for node in calls)


def _bound_name(event: Compile) -> str:
    """``model`` where the statement is ``model = torch.compile(...)``."""
    statement = event.site.statement
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if not isinstance(small, cst.Assign) or small.value is not event.node or len(small.targets) > 1:
        return ""
    target = small.targets[0].target
    return target.value if isinstance(target, cst.Name) else ""


def _above(node: cst.CSTNode, below: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes between two, the outer ones first; none where the second is not in the first."""
    for child in children(node):
        if any(inner is below for inner in walk(child)):
            yield child
            yield from _above(child, below)
            return


def _reads(source: SourceModule, scope: cst.CSTNode, name: str) -> Iterator[tuple[int, int] | None]:
    """Where ``name`` is read in ``scope``; None where that is in a function, which may run at any time."""
    inner = [node for kind in (cst.FunctionDef, cst.Lambda) for node in find(scope, kind)]
    later = {id(found) for function in inner for found in find(function, cst.Name)}
    other = _no_reads(scope)
    for found in find(scope, cst.Name):
        if id(found) in later and found.value == name:
            yield None
        elif id(found) not in other and found.value in (name, "locals", "vars"):
            place = source.location(found)
            yield place.line, place.column


def _no_reads(scope: cst.CSTNode) -> set[int]:
    """The ids of names in ``scope`` that are assigned, or no variables."""
    other = {id(node.target) for node in find(scope, cst.AssignTarget)}
    other |= {id(node.attr) for node in find(scope, cst.Attribute)}
    return other | {id(node.keyword) for node in find(scope, cst.Arg)}
