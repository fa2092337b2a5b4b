"""Python branches on the contents of a tensor.

What: `if`, `while`, a conditional expression, `and`, `or`, `not`, `in`, `any`, `all` or the condition of a
comprehension asks a tensor whether it is true; `torch.equal`, `torch.allclose` and `is_nonzero`, which ask
themselves; `sorted` on tensors.

Why: A graph is recorded without data, so it is not known which way the branch goes. Dynamo ends the graph,
reads the value (on a GPU it waits for the device), and compiles each branch when it is first taken. Inside a
loop nothing is compiled at all.

Fix: Compute both branches and select with `torch.where`; for branches that are expensive or must not both run, use
`torch.cond`. Where the condition only guards against values that do no harm, drop it: `x.masked_fill(mask,
v)` needs no `if mask.any()`. Conditions on shapes, dtypes, flags and None are fine as they are. What numpy computed is
tensor data to Dynamo, a flag like `i < np.log2(n)` too: make it a Python one with `bool()` where it is made.
"""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.fixes.branches.branch import (
    choose_result,
    count_in_graph,
    leave_out_branch,
    rewrite_branch,
    rewrite_sides,
    write_rest,
)
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.branches.cond import choose_with_cond
from graphdoctor.fixes.branches.init_flags import take_as_set
from graphdoctor.fixes.branches.masked_writes import fill_without_test, write_by_mask
from graphdoctor.fixes.branches.shortcuts import drop_guard, drop_shortcut, keep_mask
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.forms.sorting import sort_by_names, sort_in_graph
from graphdoctor.fixes.loops.layer_drop import skip_layer
from graphdoctor.fixes.loops.while_loop import loop_in_graph
from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.fixes.python.defaults import default_for_none
from graphdoctor.fixes.python.numpy_numbers import python_math
from graphdoctor.fixes.python.whole_numbers import numbers_of_buffers
from graphdoctor.fixes.rows.counted_experts import loop_over_all_counted
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.fixes.rows.sorted_experts import loop_over_all_sorted
from graphdoctor.fixes.tensors.conversions import keep_truth
from graphdoctor.fixes.tensors.masked_calls import call_with_all_rows
from graphdoctor.fixes.tensors.masks import write_without_test
from graphdoctor.fixes.tensors.rounds import first_of_branch, keep_looping, run_all_rounds
from graphdoctor.static.domain.events import Call, Truth
from graphdoctor.static.domain.value_functions import may_be_tensor, options, tensor_of
from graphdoctor.static.domain.values import Const, PythonValue, Seq, Tensor, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

from ._optional_tensor import advice as optional_tensor
from ._shared import (
    asks_for_elements,
    asks_mode,
    certainty,
    code,
    consequence,
    function_named,
    in_assert,
    only_raises,
    takes_tensor,
)

CODE = "GD201"
NAME = "tensor-condition"
SEVERITY = "error"
GB_IDS = ("GB0170", "GB0033", "GB0124", "GB0207", "GB0193", "GB0059")
TORCH = ">=2.6"

#: Functions and methods that compare tensors and give a Python bool.
COMPARERS = ("equal", "allclose", "is_nonzero")

#: Methods after which a list is longer.
LENGTHENERS = ("append", "extend", "insert")

WORDING = {
    "if": "`if` on",
    "while": "`while` on",
    "ternary": "conditional expression on",
    "and": "truth value of",
    "or": "truth value of",
    "not": "`not` of",
    "comprehension": "comprehension filters on",
    "in": "`in` compares",
    "call": "truth value of",
    "match": "`match` on",
    "assert": "`assert` on",
}

SUGGESTIONS = {
    "while": "loop a fixed number of times and mask with `torch.where`, or use `torch.while_loop`",
    "comprehension": "keep all elements and mask them with `torch.where`",
    "not": "use `torch.logical_not` (or `~` on a bool tensor) and keep the result a tensor",
    "and": "use `&` or `torch.logical_and`, and select with `torch.where`",
    "or": "use `|` or `torch.logical_or` and select with `torch.where`; test for a missing value with `is None`",
    "in": "use `(tensor == value).any()` and keep the result a tensor",
}

BREAKS = (
    """\
def f(x):
    if len(x) > 1 and x[0].sum() > x[1].sum():  # GB0170
        return x.flip(0)
    return x
""",
    """\
def f(x):
    if x.sum() > 0:  # GB0170
        return x * 2
    return x - 1
""",
    """\
def f(x):
    match x.sum():
        case 3:  # GB0170
            return x
        case _:
            return x + 1
""",
    """\
def f(x):
    match "mean":
        case "sum":
            y = 3
        case "mean":
            y = x.mean()
        case _:
            y = 4
    if y > 0:  # GB0170
        return x
    return x + 1
""",
    """\
def f(x):
    while x.abs().max() > 0.5:  # GB0170
        x = x * 0.5
    return x
""",
    """\
def f(x):
    return x * 2 if x.mean() > 1 else x  # GB0170
""",
    """\
def f(x):
    ok = (x.mean() > 0) and (x.std() < 5)  # GB0170
    return x * ok
""",
    """\
def f(x):
    empty = not (x > 0).any()  # GB0033
    return x * 2
""",
    """\
def f(x):
    return sum([row for row in x if row.mean() > 0])  # GB0170
""",
    """\
def f(x):
    if 3 in x:  # GB0124
        x = x + 1
    return x
""",
    """\
import torch


def f(x):
    if torch.allclose(x, x + 1e-9):  # GB0033
        return x * 2
    return x
""",
    """\
def f(x):
    smallest = sorted([x[0].sum(), x[1].sum()])  # GB0207
    return smallest[0]
""",
    """\
import torch


def f(x):
    limit = torch.tensor(3)
    if limit > 2:  # GB0170
        return x * 2
    return x
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        if self.training and torch.rand(()) > 0.5:  # GB0170
            x = x.flip(-1)
        return x


def graphdoctor_target():
    return Net().train(), (torch.rand(4, 8),)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        if not self.training or torch.rand(()) > 0.5:  # GB0170
            return x * 2
        return x


def graphdoctor_target():
    return Net().train(), (torch.rand(4, 8),)
""",
    """\
import numpy as np


def length(kinds, a, b):
    if len(set(kinds)) == 1:
        return a
    elif len(set(kinds)) == 2:
        return np.lcm(a, b)
    raise ValueError("one or two kinds")


def f(x):
    if x.shape[-1] % length(("a", "b", "a"), 4, 6) != 0:  # GB0170
        return x * 2
    return x
""",
    """\
def positive(t):
    if t.min() > 0:  # GB0170
        return t
    return t.abs()


def f(x):
    return positive(x.sin()) * 2
""",
    """\
def f(x):
    for step in range(3):
        x = x + step
        if x.sum() > 100:  # GB0170 GB7000
            break
    return x
""",
    """\
def f(x):
    return max(x.unbind(0), key=lambda row: row.sum())  # GB0193
""",
    """\
def f(x):
    best = max([(x[0].sum(), 1), (x[1].sum(), 2)])  # GB0059
    return x * 2
""",
    """\
def f(x):
    rows = list(filter(lambda row: row.sum() > 1, x))  # GB0170
    return rows[0]
""",
    """\
from collections import namedtuple

Point = namedtuple("Point", "x y")


def f(x):
    point = Point(x.sum(), 2)
    if point.x > 0:  # GB0170
        return x * point.y
    return x
""",
    """\
# torch >=2.9
import numpy as np
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, ratio=4):
        super().__init__()
        self.deep = 1 < np.log2(ratio)
        self.scale = np.sqrt(2.0)

    def forward(self, x):
        if self.deep:  # GB0170
            return x * self.scale
        return x
""",
    """\
class Score:
    def __init__(self, values):
        self.values = values

    def __lt__(self, other):
        return self.values.sum() < other.values.sum()


def f(x):
    if Score(x) < Score(x * 2):  # GB0170
        return x
    return x * 2
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def scaled(self, x, t):
        if self.last is None or self.last != t:  # GB0170
            self.last = t
        return x * t

    def forward(self, x):
        return self.scaled(self.scaled(x, x[0, 0]), x[0, 1])


def graphdoctor_target():
    import torch

    return Net(), (torch.rand(4, 8),)
""",
    """\
def f(x):
    accept = x.sum() <= 100
    if x.max() > 3:  # GB0170
        accept = False
    if x.min() > 2:  # GB0170
        accept = True
    if accept:  # GB0170
        return x * 2
    return x
""",
    """\
def f(x, rounds=5):
    norm = x.norm()
    for k in range(rounds):
        if k > 1 and norm < 3:  # GB0170 GB7000
            break
        x = x + 1
        norm = x.norm()
    return x
""",
)

CLEAN = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        if self.last is None or self.last != x.shape:
            self.last = x.shape
        return x * len(self.last)


def graphdoctor_target():
    import torch

    return Net(), (torch.rand(4, 8),)
""",
    """\
def f(x):
    if len(x) > 1 and x[0].shape == x[1].shape:
        return x.flip(0)
    return x
""",
    """\
# torch >=2.11
import torch


def f(x):
    match x.sum():
        case torch.Tensor() as y:
            return x + y
        case 3:
            return x
""",
    """\
# torch >=2.11
def f(x):
    y = x.sum()
    match "mean":
        case "mean":
            y = 3
    match (x, y):
        case [z, 3]:
            x = z + 1
        case _:
            if x.sum() > 0:
                x = x - 1
    return x
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        if self.training and x.shape[0] > 2:
            x = torch.where(torch.rand(()) > 0.5, x.flip(-1), x)
        return x


def graphdoctor_target():
    return Net().train(), (torch.rand(4, 8),)
""",
    """\
import math


def length(kinds, a, b):
    if len(set(kinds)) == 1:
        return a
    elif len(set(kinds)) == 2:
        return math.lcm(a, b)
    raise ValueError("one or two kinds")


def f(x):
    if x.shape[-1] % length(("a", "b", "a"), 4, 6) != 0:
        return x * 2
    return x
""",
    """\
def f(x):
    return max(x.sum(), x.mean()) * max([2, 1])
""",
    """\
def f(x):
    return sorted(x.unbind(0), key=lambda row: row.shape[0])[0]
""",
    """\
from collections import namedtuple

Point = namedtuple("Point", "x y")


def f(x):
    point = Point(x, 2)
    return point.x * 2 if point.y > 1 else point.x
""",
    """\
def f(x):
    return (1, x)[1] if (1, x.sum()) < (2, x.sum()) else x
""",
    """\
def f(x):
    found = {}
    for name, value in {"a": x, "b": x * 2}.items():
        found[name] = value.shape[0]
    return x if found["a"] > 2 else x * 2
""",
    """\
import torch


def f(x):
    return torch.where(x.sum() > 0, x * 2, x - 1)
""",
    """\
import torch


def f(x):
    return torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, (x,))
""",
    """\
def f(x):
    if x.shape[0] > 2 and x.ndim == 2 and x.is_floating_point():
        return x * 2
    return x
""",
    """\
def f(x, mask=None):
    if mask is not None and mask.any():
        x = x.masked_fill(mask, 0.0)
    return x


def graphdoctor_target():
    import torch

    return f, (torch.rand(4, 8), None)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        if self.training or x.requires_grad:
            return x * 2
        return x
""",
    """\
def f(x):
    ok = (x.mean() > 0) & (x.std() < 5)
    return x * ok
""",
    """\
def f(x):
    rows = [row * 2 for row in x if row.shape[0] > 2]
    return sum(rows)
""",
    """\
def f(x):
    return max(x[0].sum(), x[1].sum()) + min(x[0])
""",
    """\
def f(x):
    for row in x:
        x = x + row
    return x
""",
    """\
def f(x):
    return sorted([(1, x), (0, x * 2)], key=lambda pair: pair[0])[0][1]
""",
    """\
import torch


def f(x):
    if torch.is_tensor(x) and len(x) and x.device.type == "cpu" and x.dtype != torch.int64:
        return x * 2
    return x
""",
    """\
def f(x):
    cache = {"scale": x.mean()}
    if "scale" in cache:
        return x * cache["scale"]
    return x
""",
    """\
import torch


def f(x):
    if not torch.compiler.is_compiling() and x.isnan().any():
        x = x.nan_to_num()
    return x
""",
    """\
import numpy as np
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, ratio=4):
        super().__init__()
        self.deep = bool(1 < np.log2(ratio))
        self.steps = int(np.log2(ratio))
        self.scale = np.sqrt(2.0)

    def forward(self, x):
        for _ in range(self.steps):
            x = x * self.scale
        return x * 2 if self.deep and self.steps > 1 else x
""",
    """\
import torch


def f(x, rows=None, columns=None):
    if (rows is not None and rows.any()) or (columns is not None and columns.any()):
        return x * 2
    return x


def graphdoctor_target():
    return f, (torch.rand(4, 8), None, None)
""",
    """\
def f(x):
    parts = []
    for factor in range(3):
        parts.append(x * factor)
    if parts != []:
        return sum(parts)
    return x
""",
    """\
def f(x):
    accept = x.shape[0] <= 100
    if x.ndim > 3:
        accept = False
    if accept:
        return x * 2
    return x
""",
    """\
def f(x, limit=None, rounds=5):
    for k in range(rounds):
        if limit is not None and x.norm() < limit:
            break
        if k > 1 and k < rounds - 1:
            x = x + 1
    return x
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x, rest):
        return {name: part * 2 for name, part in x.items() if name not in rest}


def graphdoctor_target():
    return Net(), ({"a": torch.rand(4)}, {"b": torch.rand(4)})
""",
    """\
import torch.nn.functional as F


def f(x, kind="mean"):
    code = F._Reduction.get_enum(kind)
    if code == 0:
        return x
    return x.mean() if code == 1 else x.sum()
""",
)


def check_truth(event: Truth) -> Hit | None:
    if not may_be_tensor(event.value) or in_assert(event) or only_raises(event):
        return None
    one_mode = _only_in_one_mode(event)
    # A pattern is what compares; what it is compared with is named.
    tested = event.branch.subject if isinstance(event.branch, cst.Match) else event.node
    return Hit(
        event,
        f"{_wording(event)} tensor data {code(event, tested)}{', a flag in the other mode' if one_mode else ''}",
        _suggestion(event),
        "possible" if _short_circuited(event) or _maybe_flag(event) else certainty(event, event.value),
        severity="warning" if one_mode else None,
        torch="<2.14" if event.by_key else "",
        consequence=consequence(event),
    )


def _wording(event: Truth) -> str:
    # `items.index(x)` compares as `x in items` does.
    if event.context == "in" and isinstance(event.node, cst.Call):
        return f"`{called(event.node)}()` compares"
    return WORDING[event.context]


def _suggestion(event: Truth) -> str:
    tensor = tensor_of(event.value)
    if tensor is not None and tensor.numpy and isinstance(event.node, cst.Attribute):
        return "make it a Python bool with `bool()` where it is computed, before the model is compiled"
    if held := _looped_attribute(event):
        return (
            f"to Dynamo the contents of `{held}` are data: if no call changes them, keep them as a Python list, made "
            "in `__init__` with `.tolist()`"
        )
    if isinstance(event.branch, cst.If) and _mends_own(event.branch):
        return (
            "no input decides this: set it before the model is compiled, where it is built or its weights are loaded, "
            "and drop the test here"
        )
    if isinstance(event.branch, cst.If) and _makes_longer(event.branch.body) != _makes_longer(event.branch.orelse):
        return (
            "the length of a list depends on the data: append in each case, and where the test is false append zeros "
            "or a value that gets the weight 0"
        )
    if isinstance(event.branch, cst.If) and _holds(event.branch, cst.Continue):
        return (
            "drop the test where the rest of the iteration does nothing for an empty selection; otherwise run every "
            "iteration, and choose between the old and the new values with `torch.where`"
        )
    if isinstance(event.branch, cst.If) and _holds(event.branch, cst.Break):
        return (
            "run a fixed number of steps and keep the finished entries unchanged with `torch.where`, or compile one "
            "step and decide outside the compiled code when to stop"
        )
    if optional := optional_tensor(event):
        return optional
    if tensor is not None and tensor.numpy:
        return (
            "numpy values are tensor data here: make Python numbers of settings in `__init__` (`float(rate)`, "
            "`rates.tolist()`), compute what follows from sizes with Python numbers, pass random numbers as arguments, "
            "and compute the rest in torch, with `torch.where`"
        )
    return SUGGESTIONS.get(event.context, "compute both branches and select with `torch.where`, or use `torch.cond`")


def _holds(branch: cst.If, kind: type[cst.BaseSmallStatement]) -> bool:
    """Whether the branch itself, not a loop in it, goes on with the loop around it or leaves it."""
    return isinstance(branch.body, cst.IndentedBlock) and any(
        isinstance(line, cst.SimpleStatementLine) and any(isinstance(small, kind) for small in line.body)
        for line in branch.body.body
    )


def _mends_own(branch: cst.If) -> bool:
    """Whether the test asks attributes of ``self`` alone, and the body sets one of them: ``if self.w.sum() == 0``."""
    stored = [target for node in find(branch.body, cst.AssignTarget) for target in find(node.target, cst.Attribute)]
    own = {node.attr.value for node in stored if isinstance(node.value, cst.Name) and node.value.value == "self"}
    asked = {node.attr.value for node in find(branch.test, cst.Attribute)}
    return bool(own & asked) and names(branch.test) <= {"self", "torch", *asked} and branch.orelse is None


def _makes_longer(code: cst.CSTNode | None) -> bool:
    return code is not None and any(called(call) in LENGTHENERS for call in calls(code))


def _looped_attribute(event: Truth) -> str:
    """``self.flags`` where ``flag`` is tested in ``for i, flag in enumerate(self.flags)``, or without a counter."""
    function = function_named(event)
    for loop, target, held in _loops_over_own(function) if function is not None else ():
        if target.deep_equals(event.node) and any(node is event.branch for node in walk(loop.body)):
            return f"self.{held}"
    return ""


# Of a few functions, of which many events come one after the other.
@lru_cache(maxsize=8)
def _loops_over_own(function: cst.FunctionDef) -> tuple[tuple[cst.For, cst.BaseExpression, str], ...]:
    """The loops of ``function`` over an attribute of ``self``, with the target and the name of the attribute."""
    found = []
    for loop in find(function.body, cst.For):
        target: cst.BaseExpression = loop.target
        held = loop.iter
        if isinstance(held, cst.Call) and called(held) == "enumerate" and isinstance(target, cst.Tuple) and held.args:
            target, held = target.elements[-1].value, held.args[0].value
        if isinstance(held, cst.Attribute) and isinstance(held.value, cst.Name) and held.value.value == "self":
            found.append((loop, target, held.attr.value))
    return tuple(found)


def watches(name: str) -> bool:
    package, _, last = name.rpartition(".")
    return name == "builtins.sorted" or (last in COMPARERS and package in ("torch", "torch.Tensor"))


def check_call(event: Call) -> Hit | None:
    if event.qualname != "builtins.sorted":
        operand = event.receiver if event.receiver is not None else event.args[0] if event.args else None
        if operand is None or not takes_tensor(event, operand):
            return None
        return Hit(
            event,
            f"{code(event)} gives a Python bool that depends on tensor data",
            "compute the comparison as a tensor, `(a == b).all()`, and select with `torch.where`",
            "possible" if _short_circuited(event) else certainty(event, operand),
            consequence=consequence(event),
        )
    if event.args and "key" not in event.kwargs:
        tensor = _sorted_tensor(event.args[0])
        if tensor is not None:
            return Hit(
                event,
                f"{code(event)} compares tensors in Python",
                "stack the values and use `torch.sort`",
                certainty(event, tensor),
                consequence=consequence(event),
            )
    return None


def _sorted_tensor(value: Value) -> Tensor | None:
    if isinstance(value, Seq):
        found = [tensor_of(item) for item in (value.items if value.items is not None else (value.element,))]
        return next((tensor for tensor in found if tensor is not None), None)
    return tensor_of(value)


def _maybe_flag(event: Truth) -> bool:
    """True for a name that holds a flag on one path: ``skip = self.training and torch.rand([]) < p``.

    Not where tensor data decide which path is taken: ``if dt > limit: accept = False``.
    """
    return any(
        isinstance(o, PythonValue) or (isinstance(o, Const) and isinstance(o.value, bool) and not o.chosen_by)
        for o in options(event.value)
    )


def _only_in_one_mode(event: Truth) -> bool:
    """True for a flag that is a tensor in one of the modes: after ``if self.training: skip = torch.rand([]) < p``,
    ``if not skip:`` does not break in the other.
    """
    return any(isinstance(o, Const) and o.chosen_by == "mode" for o in options(event.value))


def _short_circuited(event: Truth | Call) -> bool:
    """True after a condition that the trace decides: ``x.dtype == torch.float16 and x.isinf().any()``.

    ``or`` ends as early: ``(a is not None and a.any()) or (b is not None and b.any())``, ``a is b or a.equal(b)``.
    """
    branch = event.branch if isinstance(event, Truth) else event.site.statement
    if not event.site.optional or not isinstance(branch, (cst.If, cst.IfExp, cst.While)):
        return False
    test = branch.test
    while isinstance(test, cst.BooleanOperation):
        if any(node is event.node for node in walk(test.right)):
            passed = not event.site.assumed and _asks_whether_passed(test)
            asked = asks_mode(test) or asks_for_elements(test) or _is_first_time(test, branch)
            return not asked and not passed
        test = test.left
    return False


def _asks_whether_passed(test: cst.BooleanOperation) -> bool:
    """True for ``done is not None and done.any()``, in code whose callers are known."""
    asked = test.left
    if not isinstance(test.operator, cst.And) or not isinstance(asked, cst.Comparison):
        return False
    part = asked.comparisons[0]
    given = isinstance(part.operator, cst.IsNot) and _is_none(part.comparator)
    return given and isinstance(asked.left, cst.Name) and asked.left.value in names(test.right)


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _is_first_time(test: cst.BooleanOperation, branch: cst.If | cst.IfExp | cst.While) -> bool:
    """True for ``if last is None or last != t: last = t``: what the body fills in is None the first time only."""
    missing = test.left
    if (
        not isinstance(test.operator, cst.Or)
        or not isinstance(missing, cst.Comparison)
        or not isinstance(branch, cst.If)
    ):
        return False
    part = missing.comparisons[0]
    is_none = isinstance(part.operator, cst.Is) and _is_none(part.comparator)
    targets = (target.target for target in find(branch.body, cst.AssignTarget))
    return is_none and any(target.deep_equals(missing.left) for target in targets)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.place, cst.Call) and called(hit.place) in ("max", "min", "sorted"):
        return first_fit(hit, editor, sort_in_graph, sort_by_names)
    plan = first_fit(hit, editor, read_once, numbers_of_buffers, fill_without_test)
    if isinstance(plan, FixPlan):
        return plan
    return first_of_branch(
        hit,
        editor,
        rewrite_branch,
        count_in_graph,
        leave_out_branch,
        choose_with_cond,
        rewrite_sides,
        choose_result,
        write_rest,
        take_as_set,
        loop_over_all_sorted,
        loop_over_all_rows,
        loop_over_all_counted,
        keep_looping,
        run_all_rounds,
        call_with_all_rows,
        skip_layer,
        default_for_none,
        keep_truth,
        loop_in_graph,
        python_math,
        drop_shortcut,
        drop_guard,
        keep_mask,
        write_by_mask,
        write_without_test,
    )
