"""A Python counter changes in compiled code.

What: `self.step += 1` on an int or float attribute of a module or class, or on a global, in compiled code; the same
on an item of a list or dictionary that they hold: `self.stats["steps"] += 1`.

Why: Dynamo guards on the value: an int of a module, a class or a global is a constant, so each call finds a changed one
and compiles again, and after 8 compilations (`torch._dynamo.config.recompile_limit`) the function runs uncompiled; a
float, or an int of an object that the caller passes, such as a cache, becomes a symbol with the second value.
`dynamic=True` does not help. After the symbol nothing compiles again, which is a note. A plain object whose method
breaks the graph is passed to what follows in that method. A global that the function only counts is no guard since
torch 2.14. After a break, up to the end of the function, where nothing is computed, nothing is compiled, and nothing is
said.

Fix: Count in the code that calls the model, or make the counter a tensor buffer:
`self.register_buffer("step", torch.tensor(0))`, with one element (`torch.tensor([0])`) where it is one of several
indices; or set `torch._dynamo.config.allow_unspec_int_on_nn_module = True`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.branches.counters import count_in_buffer
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.events import SetAttr, SetItem
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Class, Const, ExternalObject, Instance, PythonValue, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

from ._number_uses import use_of
from ._resumed import computes_nothing
from ._shared import code, function_named, stays_eager

CODE = "GD701"
NAME = "attribute-counter"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

#: ``torch._dynamo.config.recompile_limit`` as it is by default.
_RECOMPILE_LIMIT = 8

BREAKS = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1  # flagged
        return x * self.step
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.position = 0

    def forward(self, x):
        self.position = self.position + x.shape[1]  # flagged
        return x * self.position
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step = (self.step + 1) % 100  # flagged
        return x * self.step
""",
    """\
# torch >=2.13
class Seen:
    batches = 0


def f(x):
    Seen.batches += 1  # flagged
    return x * 2
""",
    """\
# torch <2.14
CALLS = 0


def f(x):
    global CALLS
    CALLS += 1  # flagged
    return x * 2
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stats = {"calls": 0}

    def forward(self, x):
        self.stats["calls"] += 1  # flagged
        return x * 2
""",
    """\
SEEN = [0]


def f(x):
    SEEN[0] = SEEN[0] + x.shape[0]  # flagged
    return x * 2
""",
)

CLEAN = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.least, self.most = 0, 0

    def widened(self, least, most):
        return least, most + 1

    def forward(self, x):
        self.least = x.shape[0] // 2
        self.most = x.shape[0] * 2
        self.least, self.most = self.widened(self.least, self.most)
        return x * self.least + self.most
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 0

    def forward(self, x):
        self.width = x.shape[1]
        return x * self.width
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.step
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        step = self.step
        step += 1
        return x * step
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = False

    def forward(self, x):
        self.seen = True
        return x * 2
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def advance(self):
        self.step += 1

    def forward(self, x):
        return x * 2
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, layers=1):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(layers))
        self.turn = 0

    def forward(self, x):
        x = self.layers[self.turn](x)
        self.turn = (self.turn + 1) % len(self.layers)
        return x
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.end = 16

    def forward(self, x):
        while x.shape[1] > self.end:
            self.end *= 2
        return x * torch.arange(self.end)[: x.shape[1]]
""",
    """\
LAST = None


def f(x):
    global LAST
    LAST = x.shape[0]
    return x * 2
""",
    """\
def f(x):
    calls = 0
    for row in x:
        calls += 1
    return x * calls
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stats = {"rows": 0}

    def forward(self, x):
        self.stats = {"rows": 0}
        self.stats["rows"] += x.shape[0]
        return x * self.stats["rows"]
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = 0

    def forward(self, x):
        self.rows = 0
        self.rows += x.shape[0]
        return x * self.rows
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sums = {"mean": torch.zeros(())}

    def forward(self, x):
        self.sums["mean"] += 1
        return x * self.sums["mean"]
""",
    """\
def f(x):
    calls = {"rows": 0}
    calls["rows"] += x.shape[0]
    return x * calls["rows"]
""",
)

#: What helps where the number is used as what a 0-d tensor cannot be.
_INSTEAD = {
    "decides": "count outside the compiled function, and pass the result of the test, a bool: a tensor would break the "
    "graph",
    "loop": "compile the body in place of the loop, or count outside: the loop is unrolled for each count",
    "beside": "count in a tensor buffer with one element, `torch.tensor([0])`: a number, or a 0-d tensor, as one of "
    "several indices is compiled again for each value",
    "index": "count outside the compiled function, and pass the number in: as the index of a tensor it becomes a "
    "symbol with the second value, and a 0-d tensor compiles again for each",
}
#: Functions with numbers that say how long something is.
_TAKE_BOUNDS = ("arange", "narrow", "range")


def check_setattr(event: SetAttr) -> Hit | None:
    if event.begun or not _outlives(event.receiver) or _prepares_data(event):
        return None
    return _check(event)


def check_setitem(event: SetItem) -> Hit | None:
    return _check(event)


def _check(event: SetAttr | SetItem) -> Hit | None:
    if not _is_number(event.value) or not _counts(event) or stays_eager(event):
        return None
    if _grows_until_enough(event) or _goes_round(event) or _settles(event) or computes_nothing(event):
        return None
    when, cost = "changes in every call", "every call is compiled again, up to the recompile limit"
    if event.site.conditional:
        when, cost = "changes in each call that comes here", "the next call is compiled again each time"
    symbol = _is_symbol(event) or _is_passed(event)
    if not symbol and event.site.resumed is not None and _is_own(event):
        if not event.site.resumes:
            # With a break it is a symbol, and without one a constant.
            return None
        symbol = True
    if symbol and _is_spelled_out(event):
        return None
    if symbol:
        cost = "the second value is compiled again, as a symbol"
    if event.site.recomputed:
        cost = "the checkpointed function is left uncompiled"
    return Hit(
        event,
        f"{code(event)} {when}, and {cost}",
        _suggestion(event),
        "likely" if event.site.conditional else "certain",
        severity="info" if symbol else None,
        torch="<2.14" if _is_unread_global(event) else "",
    )


def _suggestion(event: SetAttr | SetItem) -> str:
    """A tensor cannot take the place of a number that says where a slice begins or ends, or how long a range is."""
    if event.site.recomputed:
        return (
            "count outside the checkpointed function, or in a tensor buffer with `.add_(1)`: `+= 1` would set it anew"
        )
    function = function_named(event)
    if function is not None and (instead := _INSTEAD.get(use_of([function.body], lambda n: _is_same(n, event.node)))):
        return instead
    bounds: list[cst.CSTNode] = []
    if function is not None:
        ranges = [call for call in find(function.body, cst.Call) if called(call) in _TAKE_BOUNDS]
        bounds = [*find(function.body, cst.Slice), *ranges]
    if any(_is_same(node, event.node) for bound in bounds for node in walk(bound)):
        return "count outside the compiled function, and pass the number in: it becomes a symbol with the second value"
    return "count outside the compiled function, or keep the count in a tensor buffer"


def _is_unread_global(event: SetAttr | SetItem) -> bool:
    """Whether it is a global that the function only counts: since torch 2.14 its value is no guard then."""
    function = function_named(event)
    name = event.node
    if not isinstance(name, cst.Name) or function is None:
        return False
    counted = [node for node in walk(event.site.statement) if type(node) is cst.Name and node.value == name.value]
    named = [node for node in find(function.body, cst.Name) if node.value == name.value]
    declared = [n for d in find(function.body, cst.Global) for n in d.names if n.name.value == name.value]
    return len(named) == len(counted) + len(declared)


def _settles(event: SetAttr | SetItem) -> bool:
    """`self.exported |= flag` gives the same in the next call."""
    statement = event.site.statement
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return isinstance(small, cst.AugAssign) and isinstance(small.operator, (cst.BitOrAssign, cst.BitAndAssign))


def _is_symbol(event: SetAttr | SetItem) -> bool:
    """Whether the number becomes a symbol of the graph: a float does, while ints of objects are constants."""
    return all(
        isinstance(o.value if isinstance(o, Const) else o, float) or (isinstance(o, PythonValue) and o.kind == "float")
        for o in options(event.value)
    )


def _prepares_data(event: SetAttr) -> bool:
    """Whether it is a transform of torchvision, which a loader calls, and nothing shows that it is compiled."""
    kind = event.receiver.info if isinstance(event.receiver, Instance) else None
    bases = kind.externals if kind is not None and event.site.assumed else ()
    return any(base.startswith("torchvision.transforms.") for base in bases)


def _is_passed(event: SetAttr | SetItem) -> bool:
    """Whether it belongs to an object that the caller passes, such as a cache: its ints become symbols."""
    objects = _plain_objects(event)
    return bool(objects) and all(each.is_passed for each in objects)


def _plain_objects(event: SetAttr | SetItem) -> list[Instance]:
    """The objects that have the attribute, or hold the container; none where one of them is a module."""
    holder = event.receiver if isinstance(event, SetAttr) else event.holder
    objects = [o for o in options(holder) if isinstance(o, Instance)] if holder is not None else []
    return [] if any(o.info.is_module for o in objects) else objects


def _is_own(event: SetAttr | SetItem) -> bool:
    """Whether it is the plain object whose method it is, ``self.n``: what follows a break gets it as an argument."""
    if not _plain_objects(event):
        return False
    node: cst.CSTNode = event.node.value if isinstance(event.node, cst.Subscript) else event.node
    function = function_named(event)
    first = function.params.params[0].name.value if function is not None and function.params.params else None
    owner = node.value if isinstance(node, cst.Attribute) else None
    return isinstance(owner, cst.Name) and owner.value == first and "." in event.site.function


def _is_spelled_out(event: SetAttr | SetItem) -> bool:
    """Whether the function uses the number as a key or the length of a loop, for which a symbol may get its value."""
    function = function_named(event)
    if function is None:
        return False
    ranges = [call for call in find(function.body, cst.Call) if getattr(call.func, "value", None) == "range"]
    chosen = [*find(function.body, cst.Index), *ranges]
    return any(_is_same(node, event.node) for part in chosen for node in walk(part))


def _outlives(receiver: Value) -> bool:
    """A class, the globals of a module, or an object that the call itself does not make."""
    kept = isinstance(receiver, Class) or (isinstance(receiver, Instance) and not receiver.inside)
    return kept or receiver == ExternalObject("builtins.globals")


def _counts(event: SetAttr | SetItem) -> bool:
    """True where the new value is made from the old one: `self.n += 1`, `self.n = self.n + 1`."""
    statement = event.site.statement
    if not isinstance(statement, cst.SimpleStatementLine):
        return event.augmented
    return (event.augmented or _depends(statement, event.node)) and not _begins_anew(event)


def _depends(statement: cst.SimpleStatementLine, target: cst.CSTNode) -> bool:
    """Whether what ``statement`` assigns is made from what ``target`` held."""
    assigned = [s.value for s in statement.body if isinstance(s, cst.Assign)]
    return any(_is_same(node, target) for value in assigned for node in walk(value))


def _grows_until_enough(event: SetAttr | SetItem) -> bool:
    """Whether a loop goes on until the number suffices: it does for most calls."""
    function = function_named(event)
    loops = _while_loops(function) if function is not None else ()
    return any(
        any(node is event.site.statement for node in walk(loop.body))
        and any(_is_same(node, event.node) for node in walk(loop.test))
        for loop in loops
    )


# Of a few functions, of which many events come one after the other.
@lru_cache(maxsize=8)
def _while_loops(function: cst.FunctionDef) -> Sequence[cst.While]:
    return find(function.body, cst.While)


def _goes_round(event: SetAttr | SetItem) -> bool:
    """Whether the value is one of few: ``self.turn = (self.turn + 1) % len(self.layers)``, ``int(not self.on)``."""
    statement = event.site.statement
    body = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    return any(_is_one_of_few(s.value) for s in body if isinstance(s, cst.Assign))


def _is_one_of_few(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.Call) and called(value) in ("int", "float") and len(value.args) == 1:
        return _is_one_of_few(value.args[0].value)
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.operator, cst.Not)
    if not isinstance(value, cst.BinaryOperation):
        return False
    if isinstance(value.operator, cst.Subtract):
        return isinstance(value.left, cst.Integer) and isinstance(value.right, (cst.Attribute, cst.Name, cst.Subscript))
    limited = not (isinstance(value.right, cst.Integer) and int(value.right.value, 0) > _RECOMPILE_LIMIT)
    return isinstance(value.operator, cst.Modulo) and limited


def _begins_anew(event: SetAttr | SetItem) -> bool:
    """Whether each call gives the attribute or item another value before, so that nothing depends on the last call."""
    function = function_named(event)
    for statement in function.body.body if function is not None else ():
        if statement is event.site.statement:
            break
        if isinstance(statement, cst.SimpleStatementLine) and _assigns(statement, event.node):
            return not _depends(statement, event.node)
    return False


def _assigns(statement: cst.SimpleStatementLine, target: cst.CSTNode) -> bool:
    assigned = [t.target for s in statement.body if isinstance(s, cst.Assign) for t in s.targets]
    return any(_is_same(node, target) for node in assigned)


def _is_same(node: cst.CSTNode, target: cst.CSTNode) -> bool:
    """Whether two nodes are written alike. Most are not, and ``deep_equals`` needs long to tell."""
    if type(node) is not type(target):
        return False
    if isinstance(node, cst.Attribute) and isinstance(target, cst.Attribute) and node.attr.value != target.attr.value:
        return False
    return node.deep_equals(target)


def _is_number(value: Value) -> bool:
    def numeric(option: Value) -> bool:
        if isinstance(option, Const):
            return type(option.value) in (int, float)
        return isinstance(option, PythonValue) and option.kind in ("int", "float")

    return all(numeric(option) for option in options(value))


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if hit.event.site.recomputed:
        return Refusal("The function is checkpointed, and may set no attribute, not even to a tensor.")
    return first_fit(hit, editor, count_in_buffer)
