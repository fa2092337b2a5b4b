"""A numpy result is used as a Python number.

What: `int()`, `float()`, `.item()`, `.tolist()` of a numpy array or of what a numpy function returns, or such
a value as a size; the classic is `int(np.prod(x.shape))`. And the `dtype`, `flags` and `base` of an array.

Why: Dynamo traces numpy as tensor operations (`torch._dynamo.config.trace_numpy`), so what numpy computes is
tensor data, even from the shape of a tensor. Turning it into a Python number ends the graph.

Fix: Use Python's `math` on shapes: `math.prod(x.shape)` stays a number. Keep values computed from arrays as
tensors. A function of numbers, `float(np.sqrt(2.0))` or `np.clip(rate, 0, 1)`, is evaluated while tracing and is fine.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.numpy_attributes import number_in_constructor
from graphdoctor.fixes.python.array_operators import array_as_operator
from graphdoctor.fixes.python.numpy_numbers import element_itself, python_math, shape_alone
from graphdoctor.fixes.rows.counted_experts import loop_over_all_counted
from graphdoctor.fixes.tensors.conversions import python_product, torch_reduction
from graphdoctor.static.domain.events import Call, Convert, GetAttr
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

from ._shared import certainty, code, consequence

CODE = "GD213"
NAME = "numpy-scalar"
SEVERITY = "error"
GB_IDS = ("GB0033", "GB0007", "GB0059", "GB0158", "GB0250", "GB0185", "GB0157", "GB0208", "GB0112")
TORCH = ">=2.6"

#: Functions of each element, which Dynamo evaluates while tracing when they get Python numbers alone (measured).
FOLDED = (
    "abs", "ceil", "clip", "exp", "floor", "log", "log10", "log2", "maximum", "minimum", "mod", "power", "rint",
    "round", "sin", "sqrt", "tanh", "trunc",
)  # fmt: skip
#: Functions of `math` that Dynamo evaluates while tracing for a numpy scalar of known value (measured).
REAL_FUNCTIONS = frozenset((
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "degrees", "erf",
    "erfc", "exp", "exp2", "expm1", "fabs", "fmod", "frexp", "gamma", "hypot", "ldexp", "lgamma", "log", "log10",
    "log1p", "log2", "modf", "nextafter", "pow", "radians", "remainder", "sin", "sinh", "sqrt", "tan", "tanh", "ulp",
))  # fmt: skip
#: Methods of arrays that give Python objects.
EXTRACTORS = ("item", "tolist", "tobytes")
#: Attributes of arrays that Dynamo does not know (torch/_dynamo/variables/tensor.py).
UNTRACED = ("dtype", "flags", "base")

HELP = (
    "compute a size with Python's `math` and without arrays (`math.prod(x.shape)`, `math.ceil(math.log(n))`, "
    "`x.shape[0]` for `np.array(x.shape)[0]`); store a Python number in `__init__` (`int(np.prod(rates))`); keep data "
    "a tensor, without `.item()`"
)
#: Of what makes Python objects of a whole array.
OBJECTS_HELP = (
    "keep the values a tensor, and make Python objects of them outside the compiled code; "
    "of sizes alone, `list(x.shape)` needs no array"
)

BREAKS = (
    """\
import numpy as np


def f(x):
    n = int(np.prod(x.shape))  # GB0033
    return x.reshape(n)
""",
    """\
import numpy as np


def f(x):
    n = np.prod(x.shape)
    return x.reshape(int(n))  # GB0007 GB0033
""",
    """\
def f(x):
    return x - x.numpy().mean().item()  # GB0033
""",
    """\
def f(x):
    return x - float(x.numpy().max())  # GB0033
""",
    """\
import numpy as np


def f(x):
    rates = [float(rate) for rate in np.linspace(0, 1, 4)]  # GB0033
    return x * rates[1]
""",
    """\
import numpy as np


def f(x):
    for step in range(np.prod([2, 2])):  # GB0059
        x = x + step
    return x
""",
    """\
def f(x):
    data = x.numpy().tobytes()  # GB0158
    return x * 2
""",
    """\
# torch >=2.9
def f(x):
    objects = x.numpy().astype(object)  # GB0250 flagged
    return x + objects.shape[0]  # GB0185
""",
    """\
import numpy as np


def f(x):
    is_single = x.numpy().dtype == np.float32  # GB0157
    return x * 2
""",
    """\
import numpy as np


def f(x):
    n = np.ceil(np.log(x.shape[0])).astype("int").item()  # GB0208
    return x[:n]
""",
    """\
import numpy as np
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = np.prod([2, 2])

    def forward(self, x):
        return F.interpolate(x[None], scale_factor=self.scale)  # GB0112
""",
    """\
import numpy as np
import torch


def f(x):
    halves = (np.array(x.shape) + 1) // 2
    steps = np.arange(0, halves[0]) + 0.5  # GB0033
    return x * torch.from_numpy(steps).sum()
""",
)

CLEAN = (
    """\
import math


def f(x):
    return x.reshape(math.prod(x.shape))
""",
    """\
import numpy as np


def f(x):
    return x / np.sqrt(x.shape[-1])
""",
    """\
import numpy as np


def f(x):
    return x * float(np.sqrt(2.0)) + int(np.ceil(x.shape[0] / 3))
""",
    """\
import numpy as np


def f(x):
    ratio = float(np.clip(x.shape[0] / 7, 0.5, 0.9))
    return x * ratio + float(np.maximum(ratio, np.power(ratio, 2)))
""",
    """\
import numpy as np

SCALE = float(np.prod([2, 3]))


def f(x):
    return x * SCALE
""",
    """\
def f(x):
    return x - x.numpy().mean()
""",
    """\
import numpy as np
import torch


def f(x):
    return torch.from_numpy(np.sqrt(x.numpy())) * 2
""",
    """\
import torch


def f(x):
    rates = torch.linspace(0, 1, 4)
    return x * rates[1]
""",
    """\
import numpy as np


def f(x):
    return x * np.pi + np.arange(8)
""",
    """\
def f(x):
    array = x.numpy()
    return x + array.T.shape[0] + array.ndim + array.size
""",
    """\
import math


def f(x):
    return x[: math.ceil(math.log(x.shape[0]))]
""",
    """\
import numpy as np
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        return x * int(2 ** (np.ceil(np.log2(0.3 * self.rate))))


def graphdoctor_target():
    import torch

    return Net(16), (torch.rand(4, 8),)
""",
    """\
import numpy as np


def f(x):
    return x + int(x.shape[0] / 2) + len(np.zeros(3)) + int(np.ceil(x.shape[0] / 3) * 3 - x.shape[0])
""",
    """\
# torch >=2.10
import numpy as np
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = np.prod((2, 2))

    def forward(self, x):
        return torch.reshape(x, (-1, self.n))[:, : self.n] * int(self.n) + self.n.item()
""",
    """\
import torch


def width(x):
    return x.dtype.itemsize if isinstance(x, torch.Tensor) else len(x)


def f(x):
    return x * width(x.numpy())
""",
    """\
import numpy as np
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = np.prod([2, 2])

    def forward(self, x):
        return F.interpolate(x[None], size=self.size)
""",
    """\
import numpy as np
import torch


def f(x):
    steps = np.arange(0, x.shape[0])
    return x * torch.from_numpy(steps).sum()
""",
    """\
import numpy as np
import torch


def f(x):
    zeros, steps = np.zeros(x.shape), np.arange(np.ceil(x.shape[0] / 2))
    return x * torch.from_numpy(zeros).sum() * torch.from_numpy(steps).sum()
""",
)


def check_convert(event: Convert) -> Hit | None:
    tensor = tensor_of(event.value)
    # Text is another rule's.
    if tensor is None or not tensor.numpy or event.to in ("str", "repr", "format"):
        return None
    # What is computed of sizes alone is evaluated while tracing; but a whole number of numpy is not converted.
    is_whole = tensor.constant and not tensor.argument and tensor.dtype == "int" and event.to in ("int", "float")
    by_math = event.to == "math" and event.how not in REAL_FUNCTIONS
    if event.to != "range" and not (is_whole or by_math) and _is_folded(event.node):
        return None
    to_number = event.to in ("int", "float") and not is_whole
    if tensor.constant and (to_number or (event.to == "math" and event.how in REAL_FUNCTIONS)):
        return None
    if tensor.constant and not tensor.argument and _is_read_by_torch(event):
        return None
    plain = _is_scalar_of_eager_code(tensor) and event.to in ("int", "float", "index", "size")
    if plain and not _is_scale(event):
        return None
    resumed = event.site.resumed
    if event.to in ("index", "size") and resumed is not None and resumed is event.site.statement:
        # The first of several bounds ends the graph, and the others are inputs of the next.
        return None
    # A size from before a graph break is a number of the next graph, until the code has no such break.
    is_number = tensor.ndim == 0 or event.how == "slice"
    is_later = not plain and tensor.argument and is_number and event.to in ("index", "size")
    if is_later and event.how == "slice" and not _is_first_bound(event):
        return None
    reason = f"{code(event)}: numpy results are tensor data to Dynamo, and {event.how} needs a number"
    return Hit(
        event,
        f"{reason}: this splits the graph once the break before it is gone" if is_later else reason,
        HELP,
        certainty(event, event.value),
        severity="warning" if is_later else None,
        consequence=None if is_later else consequence(event),
    )


def _is_read_by_torch(event: Convert) -> bool:
    """Whether torch reads the number, which asks a tensor of known value for it: a size of an operator, a bound."""
    if event.to == "index":
        return event.how == "slice"
    return event.to == "size" and not event.how.startswith("np.") and not _is_scale(event)


def watches(name: str) -> bool:
    return name.startswith("numpy.ndarray.")


def check_call(event: Call) -> Hit | None:
    name = event.qualname.rpartition(".")[2]
    as_objects = name == "astype" and "object" in code(event)
    if name not in EXTRACTORS and not as_objects:
        return None
    array = tensor_of(event.receiver) if event.receiver is not None else None
    if name == "item" and array is not None and _is_scalar_of_eager_code(array):
        return None
    return Hit(
        event,
        f"{code(event)} converts array data to Python objects",
        HELP if name == "item" else OBJECTS_HELP,
        certainty(event, event.receiver),
        consequence=consequence(event),
    )


def check_getattr(event: GetAttr) -> Hit | None:
    array = tensor_of(event.receiver)
    if array is None or not array.numpy or event.name not in UNTRACED:
        return None
    return Hit(
        event,
        f"{code(event)} of an array is not traced by Dynamo",
        "read it from a tensor, or write the dtype out",
        certainty(event, event.receiver),
        consequence=consequence(event),
    )


def _is_scalar_of_eager_code(array: Tensor) -> bool:
    """A numpy scalar that was computed before the compiled code ran: since torch 2.10 its value is known, not that of
    ``n // 2``.
    """
    return array.argument and array.constant and array.ndim == 0


def _is_first_bound(event: Convert) -> bool:
    """Whether it is the first bound of a slice in its statement that is no literal: what is said holds for them all."""
    bounds = [bound for each in find(event.site.statement, cst.Slice) for bound in (each.lower, each.upper) if bound]
    first = next((bound for bound in bounds if not isinstance(bound, cst.Integer)), None)
    return first is event.node


def _is_scale(event: Convert) -> bool:
    """Whether the number is the ``scale_factor`` of ``F.interpolate``, which is computed with before it is used."""
    args = event.node.args if event.how == "interpolate" and isinstance(event.node, cst.Call) else ()
    names = [arg.keyword.value if arg.keyword is not None else "" for arg in args]
    return "scale_factor" in names or names[2:3] == [""]


def _is_folded(node: cst.CSTNode) -> bool:
    """True for ``int(np.ceil(number))`` and the like, spelled in one expression."""
    if not isinstance(node, cst.Call) or len(node.args) != 1:
        return False
    inner = node.args[0].value
    if not isinstance(inner, cst.Call) or not isinstance(inner.func, cst.Attribute):
        return False
    return inner.func.attr.value in FOLDED and bool(inner.args)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    of_numbers = (python_product, torch_reduction, python_math, element_itself, number_in_constructor)
    return first_fit(hit, editor, *of_numbers, shape_alone, loop_over_all_counted, array_as_operator)
