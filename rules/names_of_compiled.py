"""Parameters of a compiled model are picked by the names that they had before.

What: A test such as `name.startswith("encoder")` or `name == "head.weight"` on the names that `named_parameters()`,
`named_modules()`, `named_buffers()` or `state_dict()` of a compiled model give, or an item
`model.state_dict()["head.weight"]`. Also `model.load_state_dict(state, strict=False)` of a compiled model.

Why: `torch.compile(model)` gives a wrapper that holds the model as `_orig_mod`, so all names begin with `_orig_mod.`.
The test is silently False: the optimizer gets no such parameters, or freezes none; an item raises a KeyError. With
`strict=False` nothing at all is loaded from a checkpoint of the model that was not compiled, without a word.

Fix: Ask before the model is compiled, or ask what was compiled: `compiled._orig_mod.named_parameters()`. After
`model.compile()`, which compiles in place, all names stay. `endswith` and `in` work with either.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Operation, TrackedObject, Use, dotted, same_run, unwrapped
from graphdoctor.syntax.walk import find, walk

from ._compiled import wrapper
from ._shared import code, deals_with_prefix, is_module

CODE = "GD637"
NAME = "names-of-compiled"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


model = torch.compile(Net(), backend="eager")
for name, parameter in model.named_parameters():
    if name.startswith("encoder"):  # flagged
        parameter.requires_grad = False
assert all(parameter.requires_grad for parameter in model.parameters())


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


def groups(model):
    slow = [p for name, p in model.named_parameters() if name.split(".")[0] == "encoder"]  # flagged
    return slow, [p for name, p in model.named_parameters() if "head" in name]


slow, fast = groups(torch.compile(Net(), backend="eager"))
assert not slow
assert len(fast) == 2


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Sequential(nn.Linear(8, 8)), backend="eager")
try:
    weight = model.state_dict()["0.weight"]  # flagged
except KeyError:
    weight = None
assert weight is None


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(x)


model = Net()
model.compile(backend="eager")
assert [name for name, _ in model.named_parameters() if name.startswith("head.")]
assert model.state_dict()["head.weight"].shape == (2, 8)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Sequential(nn.Linear(8, 8)), backend="eager")
assert [name for name, _ in model.named_parameters() if name.endswith("weight") or ".bias" in name]
assert [parameter for name, parameter in model.named_parameters() if "0" in name]


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(8, 8))
model = torch.compile(net, backend="eager")
assert [name for name, _ in net.named_parameters() if name == "0.weight"]
assert net.state_dict()["0.weight"].shape == (8, 8)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Sequential(nn.Linear(8, 8)), backend="eager")
plain = {name.removeprefix("_orig_mod."): value for name, value in model.state_dict().items()}
assert [name for name, _ in model.named_parameters() if name.startswith(("_orig_mod.0", "0"))]
assert plain["0.weight"].shape == (8, 8)


def f(x):
    return x * 2
""",
)

#: Methods of a module that give names, and the one whose result is looked up by a name.
_NAMED = (".named_parameters", ".named_modules", ".named_buffers", ".state_dict")
_LOAD = ".load_state_dict"


def check_use(event: Use) -> Hit | None:
    step, model = event.step, event.step.receiver
    if step.name not in (*_NAMED, _LOAD) or model is None or model.unsure or deals_with_prefix(event):
        return None
    by = wrapper(model) if is_module(unwrapped(model)) else None
    if by is None:
        return None
    if step.name == _LOAD:
        return _loads_nothing(event, model, by)
    test = next(_tests(event), None)
    if test is None:
        return None
    raises = isinstance(test, cst.Subscript)
    name = dotted(model.node) or "compiled"
    sure = same_run(by.path, step.path, "likely")
    return sure and Hit(
        event,
        f"{code(event, test)} {'raises a KeyError' if raises else 'is never true'}: `torch.compile` gives a wrapper, "
        "in which all names begin with `_orig_mod.`",
        f"ask what was compiled: `{name}._orig_mod{step.name}()`",
        sure,
        test,
    )


def _loads_nothing(event: Use, model: TrackedObject, by: Operation) -> Hit | None:
    """A load that takes any names. Where the program reads the state of the wrapper, it may load that."""
    strict = event.step.argument(1, "strict")
    if strict is None or strict.value is not False or any(step.name == ".state_dict" for step in model.steps):
        return None
    sure = same_run(by.path, event.step.path, "likely")
    return sure and Hit(
        event,
        f"{code(event)} loads nothing, without an error, from a checkpoint of the model that was not compiled: "
        "all names of the wrapper begin with `_orig_mod.`",
        f"load into what was compiled: `{dotted(model.node) or 'compiled'}._orig_mod.load_state_dict(...)`",
        "likely",
    )


def _tests(event: Use) -> Iterator[cst.BaseExpression]:
    """The tests of a name that hold without the prefix alone, and items that are asked for without it."""
    statement = event.site.statement
    for item in find(statement, cst.Subscript):
        key = item.slice[0].slice
        if item.value is event.node and isinstance(key, cst.Index) and _lacks_prefix(key.value):
            yield item
    for node in walk(statement):
        loop = node.for_in if isinstance(node, cst.BaseComp) else node
        if isinstance(loop, (cst.For, cst.CompFor)) and _gives_pairs(loop.iter, event.node):
            name = loop.target.elements[0].value if isinstance(loop.target, cst.Tuple) else None
            if isinstance(name, cst.Name) and not _is_changed(name.value, node):
                yield from _tests_of(name.value, node)


def _gives_pairs(node: cst.BaseExpression, names: cst.CSTNode) -> bool:
    """Whether a loop over ``node`` goes through the pairs that the call ``names`` gives, names first."""
    if node is names:
        return True
    if not isinstance(node, cst.Call):
        return False
    if isinstance(node.func, cst.Attribute):
        return node.func.attr.value == "items" and _gives_pairs(node.func.value, names)
    return dotted(node.func) in ("list", "tuple", "sorted", "dict") and any(
        _gives_pairs(a.value, names) for a in node.args[:1]
    )


def _is_changed(name: str, body: cst.CSTNode) -> bool:
    """Whether the name is cut or replaced before it is tested."""
    return any(_is(target.target, name) for assign in find(body, cst.Assign) for target in assign.targets)


def _tests_of(name: str, body: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    for call in find(body, cst.Call):
        starts = dotted(call.func) == f"{name}.startswith" and len(call.args) == 1
        if starts and _lacks_prefix(call.args[0].value):
            yield call
    for comparison in find(body, cst.Comparison):
        (first, *more) = comparison.comparisons
        if not more and isinstance(first.operator, (cst.Equal, cst.In)):
            whole = _is(comparison.left, name) or _is_first_part(comparison.left, name)
            if whole and _lacks_prefix(first.comparator):
                yield comparison


def _is(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _is_first_part(node: cst.BaseExpression, name: str) -> bool:
    """``name.split(".")[0]``."""
    called = node.value if isinstance(node, cst.Subscript) else None
    function = called.func if isinstance(called, cst.Call) else None
    if not isinstance(node, cst.Subscript) or not isinstance(function, cst.Attribute):
        return False
    index = node.slice[0].slice
    first = isinstance(index, cst.Index) and isinstance(index.value, cst.Integer) and index.value.evaluated_value == 0
    return first and function.attr.value == "split" and _is(function.value, name)


def _lacks_prefix(node: cst.BaseExpression) -> bool:
    """Whether it spells out names, and none of them is one of the wrapper's."""
    if isinstance(node, (cst.Tuple, cst.List, cst.Set)):
        return bool(node.elements) and all(_lacks_prefix(element.value) for element in node.elements)
    if not isinstance(node, cst.SimpleString):
        return False
    value = node.evaluated_value
    return isinstance(value, str) and bool(value) and not "_orig_mod.".startswith(value[:10])
