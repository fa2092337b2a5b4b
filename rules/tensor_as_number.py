"""A tensor stands where torch or Python needs a number.

What: Tensor data as a size, slice bound, index of a list, count of `range`, length of a list (`[0] * n`), padding,
number of chunks, `k` of `topk`, `p` of `dropout`, `alpha=`, what `full_like` and `new_full` fill with; a 0-d integer
tensor computed in the function as an index, or a list of them.

Why: Without a conversion in sight, the value is read on the host: the graph ends here, and on a GPU the
device is waited for. Integer tensors kept in buffers do this to innocent-looking arithmetic.

Fix: Keep sizes as Python numbers: pass them as arguments, or store them as plain attributes in `__init__` in
place of buffers. Select with masks (`torch.arange(n) < length`) in place of slicing to a computed length, and
index with `torch.index_select` or `torch.gather`.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.filled_spans import fill_span
from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.fixes.python.capture import capture_numbers, number_setting
from graphdoctor.fixes.python.whole_numbers import numbers_of_buffers
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.fixes.tensors.conversions import torch_math
from graphdoctor.fixes.tensors.number_lists import stay_numbers
from graphdoctor.fixes.tensors.number_parts import reduce_part
from graphdoctor.fixes.tensors.other_forms import multiplied, select_by_tensor
from graphdoctor.model.consequence import Consequence
from graphdoctor.model.findings import Confidence
from graphdoctor.static.domain.events import Convert, Event, Subscript
from graphdoctor.static.domain.value_functions import is_number, options, tensor_of
from graphdoctor.static.domain.values import Seq, Tensor, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

from ._shared import certainty, code, consequence, function_named

CODE = "GD215"
NAME = "tensor-as-number"
SEVERITY = "error"
GB_IDS = ("GB0033", "GB0124", "GB0059")
TORCH = ">=2.6"

ROLES = {
    "index": "an index or slice bound",
    "repeat": "the length of a list",
}
#: A call of a function that takes a number.
CALLS = ("range", "size")

#: Arguments that are floats: a tensor is read there even when it is an input of the function.
FLOAT_ARGUMENTS = (
    "add", "sub", "dropout", "leaky_relu", "tensor_split", "clamp", "clip", "addcmul", "addcdiv", "uniform_", "normal_",
    "elu", "celu", "hardtanh", "threshold", "softplus", "bernoulli", "softshrink", "hardshrink", "huber_loss",
    "smooth_l1_loss", "margin_ranking_loss", "hinge_embedding_loss", "cosine_embedding_loss", "poisson_nll_loss",
    "triplet_margin_loss", "multi_margin_loss", "cross_entropy", "normalize", "pairwise_distance", "cosine_similarity",
    "scaled_dot_product_attention", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "instance_norm", "rms_norm",
    "layer_norm", "batch_norm", "norm", "vector_norm", "dist", "cdist", "renorm", "renorm_", "nan_to_num", "isclose",
    "logit", "sub_", "index_add", "index_add_", "cauchy_", "geometric_", "log_normal_", "fill_diagonal_", "trapezoid",
    "addmm", "baddbmm", "addmv", "addr", "addbmm", "rsub",
)  # fmt: skip

#: Methods whose arguments are dimensions.
DIMENSIONS = ("permute", "transpose")

BREAKS = (
    """\
def f(x):
    count = (x[0] > 1).sum()
    first = x.new_zeros(count, 3)  # GB0033
    second = x.new_zeros(count, 4)
    return first.sum() + second.sum() + x.narrow(-1, count, x.size(-1) - count).sum()  # GB0033
""",
    """\
# torch >=2.10
def f(x):
    length = (x[0] > 1).sum()
    return x[:, :length]  # GB0124
""",
    """\
import torch


def f(x):
    count = (x[0] > 1).sum()
    return torch.arange(count)  # GB0033
""",
    """\
def f(x):
    rows = (x > 0).sum() // 8
    return x.reshape(rows, -1)  # GB0033
""",
    """\
def f(x):
    k = (x[0] > 0).sum()
    return x.topk(k, dim=-1).values  # GB0033
""",
    """\
import torch


def f(x):
    return x + torch.tensor([0] + [2] * (x > 0).sum()).sum()  # GB0033
""",
    """\
def f(x):
    for step in range(x[0].argmax()):  # GB0059
        x = x + step
    return x
""",
    """\
import torch.nn.functional as F


def f(x):
    return F.pad(x, (0, x[0].argmax()))  # GB0033
""",
    """\
def f(x):
    return x[:, x[0].argmax()]  # GB0033
""",
    """\
def f(x):
    return [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0][x[0].argmax()] * x  # GB0124
""",
    """\
import torch


def f(x, p):
    return torch.add(x, x, alpha=p)  # GB0033


def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.tensor(0.5))
""",
    """\
import torch


def f(x):
    return x[torch.arange(4)[1]]  # GB0033
""",
    """\
import torch


def f(x):
    limit = torch.tensor(3)
    return x[:, :limit]  # GB0124
""",
    """\
import torch


def f(x):
    rounds = torch.tensor(3)
    for step in range(rounds):  # GB0059
        x = x + step
    return x
""",
    """\
def f(x):
    return x.clamp(0, x.mean())  # GB0033
""",
    """\
import torch.nn.functional as F


def f(x):
    return F.elu(x, x.mean())  # GB0033
""",
    """\
def f(x):
    rows = x[0].argsort()
    return x[[rows[0] % 4, rows[1] % 4]]  # GB0033
""",
    """\
def f(x):
    columns = x[0].argsort()
    return x[:, [columns[0], columns[1]]]  # raises
""",
    """\
import torch


def f(x):
    return torch.full_like(x, x.max()) + x.new_full((8,), fill_value=x.mean())  # GB0033
""",
    """\
import torch


def f(x):
    orders = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    cost, best = torch.min(torch.einsum("ij,kj->ik", x, x[:2]), dim=1)
    return torch.stack([orders[k] for k in best])  # GB0033
""",
    """\
import torch


def f(x):
    order = torch.cat([torch.tensor([1, 0]), torch.arange(2, x.ndim)])
    return x.permute(*order)  # GB0033
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, batch: dict[str, torch.Tensor]):
        longest = batch["lengths"].max()
        return torch.arange(longest)  # GB0033


def graphdoctor_target():
    return Net(), ({"lengths": torch.tensor([2, 3])},)
""",
    """\
import torch


def f(x):
    rows = x[0].argmax()
    return x[slice(None, rows)]  # GB0124


def graphdoctor_target():
    return f, (torch.rand(4, 4),)
""",
    """\
import torch


def f(x):
    steps = torch.linspace(0, 1, 8)
    place = torch.bucketize(x.sum(), steps).clamp(0, 7)
    return x * steps[place]  # GB0033
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        batch, channels, height, width = x.shape
        found = torch.fft.irfft(torch.fft.rfft(x.permute(0, 2, 3, 1), dim=-1), dim=-1)
        order = torch.topk(found.mean(dim=(0, 1, 2)), 2)[1]
        return x[:, order[0]] * batch  # GB0033


def graphdoctor_target():
    return Net(), (torch.rand(2, 4, 3, 3),)
""",
)

CLEAN = (
    """\
import torch


def f(x):
    length = (x[0] > 1).sum()
    return x.masked_fill(torch.arange(8) >= length, 0.0)
""",
    """\
def f(x, length=4):
    return x[:, :length]
""",
    """\
def f(x):
    return x.reshape(x.shape[1], -1)[: x.size(0) // 2]
""",
    """\
import torch


def f(x):
    column = x[0].argmax()
    return torch.index_select(x, 1, column)
""",
    """\
def f(x):
    order = x[0].argsort()
    return x[:, order]
""",
    """\
import torch


def f(x, k):
    return x[k]


def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.tensor(2))
""",
    """\
def f(x):
    for step in range(x.shape[0]):
        x = x + step
    return x
""",
    """\
import torch.nn.functional as F


def f(x):
    return F.pad(x, (0, x.shape[1] % 3))
""",
    """\
# torch >=2.10
import torch


def f(x):
    return torch.full((2,), x.mean()) + x.clamp(max=x.mean()).sum() + torch.linspace(0, x.max(), 2)
""",
    """\
def f(x):
    return sum(row * 2 for row in x)
""",
    """\
import torch


def f(x):
    row = torch.tensor(1)
    x[row] = 0.0
    return x[row] + torch.zeros(row, 8)
""",
    """\
def f(x):
    return x.clamp(x.min(), x.mean()) + x.clamp(max=x.mean())
""",
    """\
import torch


def f(x):
    return [row + i for row, i in zip(x, torch.arange(4))]
""",
    """\
import torch


def f(x, n):
    return x + len([0] * n + [1] * torch.tensor(3))


def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.tensor(2))
""",
    """\
import numpy as np


def f(x):
    return x + len(np.arange(4) * [1, 2, 3, 4])
""",
    """\
import torch


def f(x):
    return x[torch.arange(4)] + x[:, torch.tensor([1])]
""",
    """\
def f(x):
    for row in x:
        x = x + row[3]
    return x
""",
    """\
import torch


def f(x):
    order = x[0].argsort()
    return x[:, torch.stack([order[0], order[1]])]
""",
    """\
def f(x):
    return x[:, [0, x.shape[1] // 2]]
""",
    """\
def f(x):
    middle = x.shape[1] // 2
    return x[:, :middle] + x[:, middle].unsqueeze(1)
""",
    """\
# torch >=2.10
import torch


def f(x):
    low = torch.full_like(x, torch.finfo(x.dtype).min) + x.new_full((8,), x.shape[0])
    return low + torch.full((8,), x.max()) + torch.full_like(x, torch.tensor(2.0))
""",
    """\
import torch


def f(x, count):
    return torch.full_like(x, count) + x.new_full((8,), count)


def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.tensor(3))
""",
    """\
import torch


def f(x):
    orders = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    cost, best = torch.min(torch.einsum("ij,kj->ik", x, x[:2]), dim=1, keepdim=True)
    return torch.stack([orders[k] for k in best])
""",
    """\
def f(x, first=0, second=1):
    order = [1, *range(2, x.ndim), 0]
    return x.permute(*order) + x.permute(order).transpose(first, second).T
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, batch: dict[str, torch.Tensor], length: int):
        return batch["values"] + torch.arange(length)


def graphdoctor_target():
    return Net(), ({"values": torch.rand(4)}, 4)
""",
    """\
def f(x):
    rows = slice(None, x.shape[0] // 2)
    return x[rows] * 2
""",
    """\
import torch


def f(x):
    steps = torch.linspace(0, 1, 8)
    places = torch.bucketize(x, steps).clamp(0, 7)
    return x * steps[places]
""",
    """\
def f(x):
    rows = x[:, 0].argsort()
    index = [part + 0 for part in (rows,)]
    index.append(rows)
    return x[index] * 2 + x[[rows, rows]]
""",
    """\
from typing import Union

import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, n: Union[int, torch.LongTensor]):
        return x[:, :n] * nn.functional.interpolate(x[None], n * 2).mean()


def graphdoctor_target():
    return Net(), (torch.rand(4, 4), 3)
""",
    """\
import torch


def f(x):
    batch, channels, height, width = x.shape
    order = torch.topk(x.mean(dim=1).mean(dim=1).mean(dim=0), 3)[1]
    return x[:, :, :, order[:1]] * batch


def graphdoctor_target():
    return f, (torch.rand(2, 4, 3, 3),)
""",
)


def check_convert(event: Convert) -> Hit | None:
    tensor = tensor_of(event.value)
    known = event.to in ("size", "repeat")
    if tensor is None or tensor.numpy or event.to not in (*ROLES, *CALLS) or (tensor.constant and known):
        return None
    by_custom = not tensor.is_known and tensor.ndim != 0
    computed = not known and tensor.dtype == "int" and all(isinstance(o, Tensor) for o in options(event.value))
    if (known or event.how in ("slice", "range", "list index")) and by_custom and not computed:
        # Made from arguments of which nothing is known: what gives a size is a number as a rule, unless it is what
        # ``max`` or the like found in one of them, or one of the numbers that ``argmax`` and the like made of it.
        return None
    by_length = known and event.how.rpartition(".")[2] not in FLOAT_ARGUMENTS
    if by_length and _symbolic(tensor):
        return None
    given = (
        f"{code(event)} is given tensor data where it needs a number"
        if event.to in CALLS
        else f"tensor data {code(event)} is used as {ROLES[event.to]} ({event.how})"
    )
    return Hit(
        event,
        given,
        "pass the number as a Python int, or keep the size fixed and mask",
        "possible" if by_length and _is_buffer(tensor, event) else certainty(event, event.value),
        consequence=_cost(event),
    )


def _cost(event: Convert) -> Consequence:
    """A slice is made before it is used, where Dynamo cannot go on after a break."""
    if event.how == "slice" and event.site.whole_frame is None and event.site.function:
        return Consequence("rest", event.site.function)
    return consequence(event)


def check_subscript(event: Subscript) -> Hit | None:
    # What is surely a number counts before what may be one: `x[rows[j], order[j]]`.
    for place, index in sorted(enumerate(event.index), key=lambda placed: _may_be_computed(placed[1])):
        computed = [o for o in options(index) if _computed(o) or _list_of_tensors(o, event)]
        is_last = _is_last_of_one(event, place)
        if computed or is_last or (_may_be_computed(index) and _reads_element(event)):
            sure = not all(_is_buffer(option, event) for option in computed)
            unsure: Confidence = "likely" if is_last else "possible"
            return Hit(
                event,
                f"{code(event)} is indexed by a number that was computed in the graph",
                "use `torch.index_select` or `torch.gather`, or index with a 1-d tensor",
                certainty(event, index if isinstance(index, Tensor) else None) if sure else unsure,
                consequence=consequence(event),
            )
    return None


def _is_buffer(value: Value, event: Event) -> bool:
    """A whole number in a buffer that the function does not add to: a model on the CPU has a number of the trace."""
    if not isinstance(value, Tensor) or not value.owned or value.dtype != "int" or value.ndim != 0:
        return False
    function, module = function_named(event), event.site.module
    changed = find(function.body, cst.AugAssign) if function is not None else ()
    return not any(module.code(node.target) in module.code(event.node) for node in changed)


def _computed(value: Value) -> bool:
    if not isinstance(value, Tensor) or value.ndim != 0 or _is_argument(value):
        return False
    # Of numpy nothing else with no dimension can be an index.
    return value.dtype == "int" or (value.numpy and value.dtype is None)


def _may_be_computed(value: Value) -> bool:
    """Whole numbers of a tensor of which only a run knows whether it is a number or a row."""
    if not isinstance(value, Tensor) or value.numpy or _is_argument(value):
        return False
    return value.dtype == "int" and value.ndim is None


def _reads_element(event: Subscript) -> bool:
    """Whether an index is an element of something, ``x[:, order[0]]``; ``x[order[1:]]`` has a slice."""
    parts = event.node.slice if isinstance(event.node, cst.Subscript) else ()
    indices = [part.slice.value for part in parts if isinstance(part.slice, cst.Index)]
    names = {index.value for index in indices if isinstance(index, cst.Name)}
    return any(map(_is_element, indices)) or (bool(names) and _names_element(event, names))


def _is_last_of_one(event: Subscript, place: int) -> bool:
    """Whether the index at ``place`` is the end of one sequence: ``x[i, lengths[i] - 1]``, or ``x[i, n - 1]`` of
    ``for i, n in enumerate(lengths)``. Beside the number of the sequence its length is one number, too."""
    parts = [part.slice for part in event.node.slice] if isinstance(event.node, cst.Subscript) else []
    part = parts[place] if len(parts) == len(event.index) else None
    node = part.value if isinstance(part, cst.Index) else None
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Subtract):
        return False
    if not isinstance(node.right, cst.Integer) or not any(map(is_number, event.index)):
        return False
    ends = [o for o in options(event.index[place]) if isinstance(o, Tensor) and o.dtype in ("int", None)]
    if not ends or any(end.numpy or end.constant or end.ndim not in (0, None) for end in ends):
        return False
    return _is_element(node.left) or (isinstance(node.left, cst.Name) and _is_run_through(event, node.left.value))


def _is_run_through(event: Subscript, name: str) -> bool:
    """Whether a loop or a comprehension of the function binds ``name``."""
    function = function_named(event)
    if function is None:
        return False
    targets = [loop.target for loop in find(function.body, cst.For)]
    targets += [loop.target for loop in find(function.body, cst.CompFor)]
    return any(isinstance(n, cst.Name) and n.value == name for target in targets for n in walk(target))


def _names_element(event: Subscript, names: set[str]) -> bool:
    """Whether one of ``names`` is an element: ``i = ids[0, n]``, or ``i = order[0]`` of ``order = scores.argsort()``.

    What other calls give may be a tuple, whose elements are whole tensors: ``rows = mask.nonzero(as_tuple=True)[0]``.
    """
    function = function_named(event)
    bound = [
        (place.target.value, made.value)
        for made in (find(function.body, cst.Assign) if function is not None else ())
        for place in made.targets
        if isinstance(place.target, cst.Name)
    ]
    orders = {name for name, value in bound if isinstance(value, cst.Call) and _called(value) == "argsort"}
    elements = (value for name, value in bound if name in names and _is_element(value))
    return any(
        isinstance(value, cst.Subscript) and (len(value.slice) > 1 or getattr(value.value, "value", "") in orders)
        for value in elements
    )


def _called(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _is_element(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Subscript) and all(isinstance(part.slice, cst.Index) for part in node.slice)


def _list_of_tensors(value: Value, event: Subscript) -> bool:
    """A list of 0-d tensors, which torch reads one by one. A tuple that is the whole index is as many indices."""
    if not isinstance(value, Seq) or (value.kind == "tuple" and len(event.index) == 1):
        return False
    items = value.items if value.items is not None else (value.element,)
    return any(
        isinstance(item, Tensor) and item.ndim == 0 and item.is_known and not item.numpy and not _is_argument(item)
        for item in items
    )


def _is_argument(tensor: Tensor) -> bool:
    """An input of the function, or made from Python numbers: as an index it is no break."""
    return tensor.argument or tensor.constant


def _symbolic(tensor: Tensor) -> bool:
    """A 0-d integer tensor that is an input on the CPU is traced as a symbolic number, and is no break."""
    return tensor.argument and tensor.dtype in ("int", None) and tensor.ndim in (0, None)


def recorded_by(hit: Hit, editor: Editor) -> str:
    return number_setting(hit, editor)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.event, Subscript):
        return first_fit(hit, editor, select_by_tensor)
    if isinstance(hit.event, Convert) and hit.event.how in DIMENSIONS:
        return Refusal("Which dimensions an operator swaps has to be known: recording the number does not help.")
    if isinstance(hit.event, Convert) and hit.event.to in ("range", "repeat"):
        return Refusal("How often a loop runs, or a list repeats, has to be known: recording the number does not help.")
    return first_fit(
        hit,
        editor,
        multiplied,
        torch_math,
        stay_numbers,
        read_once,
        numbers_of_buffers,
        loop_over_all_rows,
        fill_span,
        reduce_part,
        capture_numbers,
    )
