"""The last batch of a data loader is smaller, and compiles the model again.

What: A loop over a `DataLoader` without `drop_last=True` that calls a compiled model, where nothing says that sizes
vary (`dynamic=True`, `mark_dynamic`) and the length of the data is not known to be a multiple of the batch size. Not
reported: a loop that asks for the size of a batch, for it skips or pads the last one; a file that cuts data to whole
batches (`n // size * size`, `n - n % size`); and tensors made of sizes (`torch.randn(size * steps, 8)`) in batches of a
size that is not known, for programs make them from it.

Why: Sizes are constants of the graph at first. The smaller last batch compiles again, now with a symbol for the batch
size, and the kernels for any size may be slower than those for one.

Fix: `drop_last=True` in training; else `torch._dynamo.mark_dynamic(x, 0)` on the first batch, or pad the last one.
"""

from __future__ import annotations

from collections.abc import Container

import libcst as cst

from graphdoctor.static.domain.events import Build, CompiledCall
from graphdoctor.static.domain.values import Const, Function, Instance, Tensor, Value
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import MISSING, Operation, TrackedObject, Use, dotted, same_run
from graphdoctor.syntax.walk import find, walk

from ._shared import code

CODE = "GD705"
NAME = "partial-batch"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
from torch.utils.data import DataLoader, TensorDataset


@torch.compile(backend="eager")
def f(x):
    return x * 2


loader = DataLoader(TensorDataset(torch.rand(10, 8)), batch_size=4)  # flagged
for (batch,) in loader:
    f(batch)
""",
    """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader


def train(data):
    model = torch.compile(nn.Linear(8, 8), backend="eager")
    loader = DataLoader(data, batch_size=4, shuffle=True)  # flagged
    for step, batch in enumerate(loader):
        model(batch)


train(torch.rand(10, 8))
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Noise(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.randn(8)


def train(size):
    net = torch.compile(nn.Linear(8, 8), backend="eager")
    for batch in DataLoader(Noise(), batch_size=size):
        net(batch)


train(8)


def f(x):
    return x * 2
""",
    """\
import torch
from torch.utils.data import DataLoader, TensorDataset


@torch.compile(backend="eager")
def f(x):
    return x * 2


loader = DataLoader(TensorDataset(torch.rand(10, 8)), batch_size=4, drop_last=True)
for (batch,) in loader:
    f(batch)
""",
    """\
import torch
from torch.utils.data import DataLoader


@torch.compile(backend="eager")
def f(x):
    return x * 2


for batch in DataLoader(torch.rand(12, 8), batch_size=4):
    f(batch)
""",
    """\
import torch
from torch.utils.data import DataLoader


@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x * 2


loader = DataLoader(torch.rand(10, 8), batch_size=4)
for batch in loader:
    f(batch)
""",
    """\
import torch
from torch.utils.data import DataLoader


@torch.compile(backend="eager")
def f(x):
    return x * 2


loader = DataLoader(torch.rand(10, 8), batch_size=4)
for batch in loader:
    batch.sum()
f(torch.rand(4, 8))
""",
    """\
import torch
from torch.utils.data import DataLoader, TensorDataset


@torch.compile(backend="eager")
def f(x):
    return x * 2


loader = DataLoader(TensorDataset(torch.rand(12, 8)), batch_size=4)
for (batch,) in loader:
    f(batch)
""",
)


def check_compiledcall(event: CompiledCall) -> Hit | None:
    loader = next((made for made in event.loaders if _may_leave_a_rest(made)), None)
    if loader is None or event.dynamic or any(_asks_for_size(loop) for loop in event.loops):
        return None
    return _hit(event, loader.node)


def check_use(event: Use) -> Hit | None:
    """Lightning's loop over the loader, of a model that is compiled or holds what is."""
    step = event.step
    if step.name != ".fit" or step.receiver is None or not step.receiver.made_by.endswith("Trainer"):
        return None
    model, loader = step.argument(0, "model"), step.argument(1, "train_dataloaders")
    made = loader.maker if loader is not None else None
    if model is None or made is None or not made.name.endswith(".DataLoader") or not _leaves_a_rest(made, event):
        return None
    wrappers = [each.find("torch.compile", ".compile") for each in (model, *event.parts(model).values())]
    wrapper = next((found for found in wrappers if found is not None), None)
    sure = same_run(wrapper.path, step.path, "likely") if wrapper is not None else None
    if wrapper is None or sure is None or wrapper.option("dynamic") is True:
        return None
    return _hit(event, made.node)


def _leaves_a_rest(made: Operation, event: Use) -> bool:
    size, length = made.argument(1, "batch_size"), _rows(made.argument(0, "dataset"), event)
    if made.option("drop_last") not in (MISSING, False) or {"**", "batch_sampler", "sampler"} & made.kwargs.keys():
        return False
    if size is None or size.value in (1, None):
        return False
    return length is None or not isinstance(size.value, int) or length % size.value != 0


#: Functions that make a tensor of the sizes that they are given.
_FILLED = frozenset(f"torch.{name}" for name in ("rand", "randn", "zeros", "ones", "empty"))


def _rows(data: TrackedObject | None, event: Use) -> int | None:
    """How many rows a tensor has that is made of sizes, or what ``TensorDataset`` makes of it, or how many a dataset of
    the code says that it has; None if not known.
    """
    own = data.made_of.method("__len__") if data is not None and data.made_of is not None else None
    if data is not None and own is not None and isinstance(own.node, cst.FunctionDef):
        returned = _returned(own.module.body(own.node))
        kept = event.parts(data).get(returned.attr.value) if isinstance(returned, cst.Attribute) else None
        rows = returned.evaluated_value if isinstance(returned, cst.Integer) else kept and kept.value
        return rows if isinstance(rows, int) else None
    made = data.maker if data is not None else None
    first = made.argument(0, "size") if made is not None else None
    if made is None or first is None:
        return None
    if made.name.endswith(".TensorDataset"):
        return _rows(first, event)
    rows = first.items[0].value if first.items else first.value
    return rows if made.name in _FILLED and isinstance(rows, int) else None


def _hit(event: CompiledCall | Use, loader: cst.CSTNode) -> Hit | None:
    if _cuts_to_batches(event.site.module.tree, loader):
        return None
    words = f"the last batch of {code(event, loader)} may be smaller, which compiles the model again"
    advice = "pass `drop_last=True`, or mark the batch dimension with `torch._dynamo.mark_dynamic`"
    return Hit(event, words, advice, "likely", node=loader)


def _cuts_to_batches(tree: cst.Module, loader: cst.CSTNode) -> bool:
    """Whether the file computes ``n // size * size`` or ``n - n % size`` with the batch size of ``loader``."""
    args = loader.args if isinstance(loader, cst.Call) else ()
    named = [arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "batch_size"]
    given = named or [arg.value for arg in args[1:2] if arg.keyword is None]
    size = _size_name(given[0]) if given else ""
    return bool(size) and any(_is_whole(node, size) for node in find(tree, cst.BinaryOperation))


def _is_whole(node: cst.BinaryOperation, size: str) -> bool:
    sides = node.left, node.right
    if isinstance(node.operator, cst.Multiply):
        # ``n // size * size``, in either order.
        return any(
            _size_name(one) == size and _divides(other, cst.FloorDivide, size) for one, other in (sides, sides[::-1])
        )
    return isinstance(node.operator, cst.Subtract) and _divides(node.right, cst.Modulo, size)


def _divides(node: cst.BaseExpression, operator: type[cst.BaseBinaryOp], size: str) -> bool:
    return isinstance(node, cst.BinaryOperation) and type(node.operator) is operator and _size_name(node.right) == size


def _size_name(node: cst.BaseExpression) -> str:
    return node.value if isinstance(node, cst.Integer) else dotted(node)


def _may_leave_a_rest(loader: Build) -> bool:
    """Whether the length of the data is not known to be a multiple of the batch size, and the rest is not dropped."""
    size = loader.kwargs.get("batch_size", loader.args[1] if len(loader.args) > 1 else Const(1))
    if loader.kwargs.get("drop_last", Const(False)) != Const(False) or size in (Const(1), Const(None)):
        return False
    if {"batch_sampler", "sampler"} & loader.kwargs.keys():
        return False
    data = loader.args[0] if loader.args else loader.kwargs.get("dataset")
    length = _length(data)
    filled = isinstance(data, Tensor) and data.ndim is not None
    if length is None and not filled:
        return True
    # ``torch.randn(size * steps, 8)``, and data of a fixed length, are made for batches of a size chosen elsewhere.
    if not isinstance(size, Const) or not isinstance(size.value, int):
        return False
    return length is None or length % size.value != 0


def _asks_for_size(loop: cst.For | cst.While) -> bool:
    """Whether a test in a loop asks for the size of a tensor, or for the length of what the loop gets."""
    got = {name.value for name in find(loop.target, cst.Name)} if isinstance(loop, cst.For) else set()
    tests = [*(each.test for each in find(loop.body, cst.If)), *(each.test for each in find(loop.body, cst.IfExp))]
    return any(_is_size(node, got) for test in tests for node in walk(test))


def _is_size(node: cst.CSTNode, got: Container[str]) -> bool:
    if isinstance(node, cst.Call) and dotted(node.func) == "len" and len(node.args) == 1:
        return dotted(node.args[0].value).partition(".")[0] in got
    return isinstance(node, cst.Attribute) and node.attr.value in ("shape", "size")


def _length(data: Value | None) -> int | None:
    if isinstance(data, Tensor) and data.sizes:
        return data.sizes[0]
    own = data.info.lookup("__len__") if isinstance(data, Instance) else None
    returned = _returned(own.info.body) if isinstance(own, Function) else None
    return _number(returned, data) if isinstance(data, Instance) else None


def _returned(body: cst.CSTNode) -> cst.BaseExpression | None:
    """The one expression that ``body`` returns."""
    returned = [node.value for node in walk(body) if isinstance(node, cst.Return)]
    return returned[0] if len(returned) == 1 else None


def _number(node: cst.BaseExpression | None, data: Instance) -> int | None:
    """``32``, or ``self.size`` where the object that was made has a number there."""
    if isinstance(node, cst.Integer):
        return node.evaluated_value
    kept = data.attrs.get(node.attr.value) if isinstance(node, cst.Attribute) else None
    return kept.value if isinstance(kept, Const) and type(kept.value) is int else None
