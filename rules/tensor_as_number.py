"""A tensor stands where torch or Python needs a number.

What: Tensor data as a size, slice bound, index of a list, count of `range`, padding, number of chunks, `k` of
`topk`, `p` of `dropout`, `alpha=`; a 0-d integer tensor computed in the function as an index.

Why: Without a conversion in sight, the value is read on the host: the graph ends here, and on a GPU the
device is waited for. Integer tensors kept in buffers do this to innocent-looking arithmetic.

Fix: Keep sizes as Python numbers: pass them as arguments, or store them as plain attributes in `__init__` in
place of buffers. Select with masks (`torch.arange(n) < length`) in place of slicing to a computed length, and
index with `torch.index_select` or `torch.gather`.
"""

from __future__ import annotations

from graphdoctor.static.events import Convert, Subscript
from graphdoctor.static.rule import Hit
from graphdoctor.static.values import Tensor, options, tensor_of

from ._shared import certainty, code, consequence

CODE = "GD215"
NAME = "tensor-as-number"
SEVERITY = "error"
GB_IDS = ("GB0033", "GB0124", "GB0059")
TORCH = ">=2.6"

ROLES = {"index": "an index or slice bound", "range": "a count of `range`", "size": "a number"}

#: Arguments that are floats: a tensor is read there even when it is an input of the function.
FLOAT_ARGUMENTS = ("add", "sub", "dropout", "leaky_relu", "tensor_split")

BREAKS = (
    """\
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
import torch


def f(x):
    return torch.full((2,), x.mean()) + x.clamp(max=x.mean()).sum() + torch.linspace(0, x.max(), 2)
""",
    """\
def f(x):
    return sum(row * 2 for row in x)
""",
)


def check_convert(event: Convert) -> Hit | None:
    tensor = tensor_of(event.value)
    if tensor is None or tensor.numpy or tensor.constant or event.to not in ROLES:
        return None
    if event.to == "size" and _symbolic(tensor) and event.how.rpartition(".")[2] not in FLOAT_ARGUMENTS:
        return None
    return Hit(
        event,
        f"tensor data {code(event)} is used as {ROLES[event.to]} ({event.how}): {consequence(event)}",
        "pass the number as a Python int, or keep the size fixed and mask",
        certainty(event, event.value),
    )


def check_subscript(event: Subscript) -> Hit | None:
    for index in event.index:
        for option in options(index):
            if isinstance(option, Tensor) and option.ndim == 0 and option.dtype == "int" and not option.argument:
                return Hit(
                    event,
                    f"{code(event)} is indexed by a number that was computed in the graph: {consequence(event)}",
                    "use `torch.index_select` or `torch.gather`, or index with a 1-d tensor",
                    certainty(event, index),
                )
    return None


def _symbolic(tensor: Tensor) -> bool:
    """A 0-d integer tensor that is an input on the CPU is traced as a symbolic number, and is no break."""
    return tensor.argument and tensor.dtype in ("int", None) and tensor.ndim in (0, None)
