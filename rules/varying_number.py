"""A compiled function gets a Python number that varies between calls.

What: A call of a compiled function in a loop, with an int or float argument that the loop changes, or with a number
written in the loop to an attribute of the compiled module or of what it holds, there or by a method (`set_epoch`).

Why: Numbers are constants of the graph at first. The second value compiles again with a symbol in its place; where it
counts a loop, decides a branch, is one of several indices (`cache[:, i]`) or an int attribute of a module, and with
`dynamic=False`, every value compiles again, up to `torch._dynamo.config.recompile_limit` (8).

Fix: Pass a 0-d tensor (`torch.tensor(step * 0.1)`), or keep the number in a buffer and write it with `fill_`. As an
index a 0-d tensor is compiled again for each value: write a slice (`cache[:, i : i + 1]`) or `cache.select(1, i)`, or
pass a tensor with one element. Of a loop, compile the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.tensor_arguments import tensor_argument
from graphdoctor.static.domain.events import CompiledCall
from graphdoctor.static.domain.program import FunctionInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, Function, Instance, Value
from graphdoctor.static.regions.mutable_globals import assigned_names
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

from ._attribute_writes import compiled_from, is_number, numbers_read, writes
from ._number_uses import EACH_VALUE, INSTEAD, NumberUse, use_of
from ._shared import code

CODE = "GD704"
NAME = "varying-number"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


@torch.compile(backend="eager")
def f(x, scale):
    return x * scale


for step in range(4):
    f(torch.rand(4, 8), step * 0.1)  # flagged
""",
    """\
import torch


def f(x, rounds=1):
    for _ in range(rounds):
        x = x + 1
    return x


compiled = torch.compile(f, backend="eager")
rounds = 0
while rounds < 4:
    rounds += 1
    compiled(torch.rand(4, 8), rounds=rounds)  # flagged
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 1

    def forward(self, x):
        return x * self.depth


net = torch.compile(Net(), backend="eager")
for step in range(4):
    net.depth = step + 1  # flagged
    net(torch.rand(4, 8))
""",
)

CLEAN = (
    """\
import torch


@torch.compile(backend="eager")
def f(x, scale):
    return x * scale


for step in range(4):
    f(torch.rand(4, 8), torch.tensor(step * 0.1))
""",
    """\
import torch


@torch.compile(backend="eager")
def f(x, scale):
    return x * scale


rate = 0.1
for step in range(4):
    f(torch.rand(4, 8), rate)
""",
    """\
import torch


def f(x, scale):
    return x * scale


for step in range(4):
    f(torch.rand(4, 8), step * 0.1)
compiled = torch.compile(f, backend="eager")
compiled(torch.rand(4, 8), 0.5)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.epoch = 1

    def forward(self, x):
        return x * 2


net = torch.compile(Net(), backend="eager")
for step in range(4):
    net.epoch = step + 1
    net(torch.rand(4, 8))
""",
    """\
import torch


@torch.compile(backend="eager")
def f(x, dim):
    return x.sum(dim)


for x in (torch.rand(4, 8), torch.rand(4, 8)):
    dim = -1 if x.shape[0] < x.shape[1] else -2
    f(x, dim)
""",
)


_BUFFER = "keep the number in a buffer, and write it with `fill_`"
_OF_ATTRIBUTE: dict[NumberUse, str] = {
    "decides": "write it seldom: the code decides by it, and a tensor would break the graph there",
    "loop": "compile the body in place of the loop: a tensor would break the graph there",
    "beside": "keep it in a buffer with one element, `torch.tensor([0])`, and write it with `fill_`: as one of several "
    "indices, a 0-d tensor compiles again for each value too",
    "index": "pass it as an argument: as the index of a tensor it becomes a symbol with the second value, and a 0-d "
    "tensor compiles again for each",
}
_SECOND_VALUE = "its second value compiles again; so does each value that a branch depends on, or with `dynamic=False`"


def check_compiledcall(event: CompiledCall) -> Hit | None:
    if not isinstance(event.node, cst.Call) or event.dynamic:
        return None
    changed = set().union(*(assigned_names(loop) for loop in event.loops)) - _settings_of_groups(event)
    for arg, value in zip(event.node.args, (*event.args, *event.kwargs.values()), strict=False):
        if not _is_read(event, arg):
            continue
        if is_number(value) and not _is_choice(value) and _names(arg.value) & changed:
            use = _use(event, arg)
            effect = EACH_VALUE.get(use, _SECOND_VALUE)
            message = f"{code(event, arg.value)} is a Python number that the loop changes: {effect}"
            suggestion = INSTEAD.get(use, "pass it as a 0-d tensor")
            received = next(((info.module, name) for info, name in _received(event, arg) if info is not None), None)
            return Hit(event, message, suggestion, "likely", node=arg.value, guarded=received)
    return _hit_of_attribute(event, changed)


def _hit_of_attribute(event: CompiledCall, changed: set[str]) -> Hit | None:
    """A number that the loop writes to an attribute, and that the compiled code reads."""
    reads = list(numbers_read(event.target))
    callee = cst.ensure_type(event.node, cst.Call).func
    owners = [callee, *compiled_from(callee, event)]
    for write in (write for loop in event.loops for write in writes(loop, owners, event.target)):
        varies = isinstance(write.node, cst.AugAssign) or any(_names(node) & changed for node in write.given)
        read = [each for each in reads if each.path == write.path]
        if not read or not varies or _is_float(write.value):
            continue
        use = use_of([each.body for each in read], partial(_is_attribute, write.path[-1]))
        suggestion = _OF_ATTRIBUTE.get(use, _BUFFER)
        if isinstance(write.node, cst.Call):
            written = f"{code(event, write.node)} sets a Python number that the loop changes, `{'.'.join(write.path)}`"
        else:
            written = f"{code(event, write.node)} is a Python number that the loop changes"
        effect = "each int compiles again, because an attribute is a constant of the graph"
        guarded = (read[0].module, ".".join(("self", *write.path)))
        return Hit(event, f"{written}: {effect}", suggestion, "likely", node=write.node, guarded=guarded)
    return None


def _is_attribute(name: str, node: cst.CSTNode) -> bool:
    return type(node) is cst.Attribute and node.attr.value == name


def _settings_of_groups(event: CompiledCall) -> set[str]:
    """Names that hold a setting of an optimizer's group which the file writes nowhere: it is the same in each step."""
    found: set[str] = set()
    for loop in event.loops:
        if (
            isinstance(loop, cst.For)
            and isinstance(loop.iter, cst.Attribute)
            and loop.iter.attr.value == "param_groups"
        ):
            found |= {name for name, key in _items_read(loop) if not _is_written(key, event.site.module.text)}
    return found


def _items_read(loop: cst.For) -> Iterator[tuple[str, str]]:
    """The names that a loop gives an item of its element, with the keys: ``steps = group["steps"]``."""
    assigned = [(node.targets[0].target, node.value) for node in find(loop.body, cst.Assign)]
    assigned += [(node.target, node.value) for node in find(loop.body, cst.AnnAssign) if node.value is not None]
    for target, item in assigned:
        if not isinstance(target, cst.Name) or not isinstance(item, cst.Subscript) or len(item.slice) != 1:
            continue
        index = item.slice[0].slice
        key = index.value if isinstance(index, cst.Index) else None
        if item.value.deep_equals(loop.target) and isinstance(key, cst.SimpleString):
            yield target.value, str(key.evaluated_value)


def _is_written(key: str, text: str) -> bool:
    return re.search(rf"\[[\"']{re.escape(key)}[\"']\]\s*[-+*/]?=(?!=)", text) is not None


def _is_read(event: CompiledCall, arg: cst.Arg) -> bool:
    """Whether what is called mentions the parameter that gets ``arg``: without that there is no guard on its value."""
    return any(info is None or name in _names(info.body) for info, name in _received(event, arg))


def _use(event: CompiledCall, arg: cst.Arg) -> NumberUse:
    """What is called does with the parameter that gets ``arg``."""
    received = [(info.body, name) for info, name in _received(event, arg) if info is not None]
    names = {name for _, name in received}
    return use_of([body for body, _ in received], lambda node: type(node) is cst.Name and node.value in names)


def _received(event: CompiledCall, arg: cst.Arg) -> Iterator[tuple[FunctionInfo | None, str]]:
    """What may be called, with its name for ``arg``; None for code that is not known."""
    if arg.star or not isinstance(event.node, cst.Call):
        yield None, ""
        return
    position = [id(each) for each in event.node.args].index(id(arg))
    for option in options(event.target):
        function = option.info.lookup("forward") if isinstance(option, Instance) else option
        if not isinstance(function, Function) or isinstance(function.info.node, cst.Lambda):
            yield None, ""
            continue
        names = [param.name.value for param in function.info.node.params.params]
        names = names[isinstance(option, Instance) or function.bound is not None :]
        name = arg.keyword.value if arg.keyword is not None else names[position] if position < len(names) else ""
        yield (function.info if name in names else None), name


def _is_float(node: cst.BaseExpression) -> bool:
    """Whether arithmetic gives a float, as far as its operators and constants show: the second one becomes dynamic."""
    parts = list(walk(node))
    return any(
        isinstance(part, (cst.Divide, cst.Float)) or (isinstance(part, cst.Name) and part.value == "float")
        for part in parts
    ) and not any(isinstance(part, (cst.Comparison, cst.FloorDivide)) or _rounds(part) for part in parts)


def _rounds(node: cst.CSTNode) -> bool:
    called = node.func if isinstance(node, cst.Call) else None
    return isinstance(called, cst.Name) and called.value in ("int", "round", "len")


def _is_choice(value: Value) -> bool:
    """Whether it is one of two constants, ``-1 if wide else -2``: that is one compilation more, and no further one."""
    found = list(options(value))
    return len(found) == 2 and all(isinstance(option, Const) for option in found)


def _names(node: cst.CSTNode) -> set[str]:
    return {n.value for n in walk(node) if isinstance(n, cst.Name)}


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, tensor_argument)
