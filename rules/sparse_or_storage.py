"""Sparse tensors, or the memory behind a tensor, in compiled code.

What: `to_sparse`, `torch.sparse_coo_tensor`, operations on sparse tensors; `storage()`, the methods of
`untyped_storage()`, `data_ptr()` used in computation, `resize_`, `resize_as_`, `share_memory_`, `apply_`,
`out=` with a tensor of another shape.

Why: Dynamo's fake tensors have no memory and are dense, so these operations cannot be traced; sparse tensors
leave the function uncompiled.

Fix: Use dense tensors with masks in compiled code, and convert outside. Give `out=` a tensor of the final
shape; use `x.new_empty(size)` or `reshape` in place of `resize_`.
"""

from __future__ import annotations

from functools import cache

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.storage import of_final_size, reshape, size_of_memory, stay_dense
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.torch_tables import META_METHODS, TORCH_PYTHON
from graphdoctor.static.domain.value_functions import may_be_tensor, options
from graphdoctor.static.domain.values import UNKNOWN, External, OneOf, Tensor, Unknown, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD509"
NAME = "sparse-or-storage"
SEVERITY = "error"
GB_IDS = (
    "GB0007", "GB0015", "GB0055", "GB0087", "GB0117", "GB0126", "GB0127", "GB0156", "GB0208", "GB0277",
    "GB0090", "GB0247",
)  # fmt: skip
TORCH = ">=2.6"

DENSE = "keep the tensor dense, or work with it outside the compiled function"
METHODS = {
    "to_sparse": DENSE,
    "to_sparse_csr": DENSE,
    "to_sparse_coo": DENSE,
    "to_mkldnn": "convert outside the compiled function",
    "storage": "do it outside the compiled function",
    "storage_offset": "do it outside the compiled function",
    "resize_": "use `reshape`, or make a tensor of the final size",
    "resize_as_": "use `reshape`, or make a tensor of the final size",
    "share_memory_": "share the tensor before the call",
    "is_shared": "check outside the compiled function",
    "apply_": "use torch operators",
    "map_": "use torch operators",
}
SPARSE = (
    "torch.sparse_coo_tensor", "torch.sparse_csr_tensor", "torch.sparse_compressed_tensor",
    "torch.nested.nested_tensor",
    "torch.nested.as_nested_tensor",
)  # fmt: skip

#: Functions whose first operand is sparse. A dense one is multiplied as well, but nobody asks for that.
OF_SPARSE = (
    "torch.sparse.mm", "torch.sparse.addmm", "torch.sparse.softmax", "torch.sparse.log_softmax", "torch.spmm",
)  # fmt: skip

BREAKS = (
    """\
# torch >=2.10
def f(x):
    sparse = x.to_sparse()  # GB0277
    return sparse.to_dense()  # GB0015
""",
    """\
import torch


def f(x, weights):
    return torch.sparse.mm(weights, x)  # GB0015


def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.eye(4).to_sparse())
""",
    """\
# torch >=2.9
import torch


def f(x):
    sparse = torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.ones(1), (2, 2))  # GB0007
    return sparse.to_dense()  # GB0015
""",
    """\
def f(x):
    y = x.clone()
    y.resize_(2, 16)  # GB0126
    return y
""",
    """\
import torch


def f(x):
    y = x.clone()
    y.resize_as_(torch.zeros(2, 16))  # GB0127
    return y
""",
    """\
def f(x):
    return x * x.untyped_storage().nbytes()  # GB0156
""",
    """\
def f(x):
    memory = x.storage()  # GB0208
    return x * 2
""",
    """\
def f(x):
    y = x.clone()
    y.apply_(lambda value: value + 1)  # GB0055
    return y
""",
    """\
# torch <2.14
def f(x):
    y = x.to_mkldnn()  # GB0087
    return x * 2
""",
    """\
# torch >=2.11
def f(x):
    x.share_memory_()  # GB0117
    return x * 2
""",
    """\
import torch


def f(x):
    rows = torch.nested.nested_tensor([x[0], x[1]])  # GB0090
    return x * 2
""",
    """\
import torch


def f(x):
    out = torch.empty(0)
    torch.add(x, 1, out=out)  # GB0247
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, graph=None):
        super().__init__()
        self.graph = torch.eye(8).to_sparse() if graph is None else graph

    def forward(self, x):
        return torch.sparse.mm(self.graph, x.new_ones(8, 8))  # GB0015
""",
    """\
# torch >=2.9
import torch


def f(x):
    graph = torch.sparse.FloatTensor(torch.tensor([[0], [1]]), torch.ones(1), (2, 2))  # GB0007
    return torch.sparse.mm(graph, torch.ones(2, 2))  # GB0015
""",
)

CLEAN = (
    """\
import torch


def f(x):
    nested = torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged)
    return x * 2
""",
    """\
import torch


def f(x):
    out = torch.empty(4, 8)
    torch.add(x, 1, out=out)
    return out
""",
    """\
import torch


def f(x):
    return torch.nn.utils.rnn.pad_sequence([x[0], x[1]])
""",
    """\
def f(x):
    return x.to_dense() * 2 if not x.is_sparse else x
""",
    """\
def f(x):
    return x * x.element_size() * x.numel()
""",
    """\
def f(x):
    return x.reshape(2, 16)
""",
    """\
import torch


def f(x):
    out = torch.empty(4, 8)
    torch.mul(x, 2, out=out)
    return out
""",
    """\
import torch


def f(x):
    return torch.sparse.mm(x, x.T)
""",
    """\
import torch


def f(x):
    y = x.clone()
    y.set_(torch.zeros(2, 16))
    return y
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        self.lin.apply(lambda module: None)
        return self.lin(x)
""",
    """\
class Pool:
    def storage(self):
        return 2


def f(x):
    return x * Pool().storage()
""",
    """\
def f(x):
    return x.as_strided((2, 2), (1, 2)) + x.T[:2, :2] if x.is_contiguous() else x
""",
    """\
# torch >=2.13
def f(x):
    if x.data_ptr() == x.data_ptr():
        return x * 2
    return x
""",
    """\
import torch


def f(x):
    memory = x.untyped_storage()
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = nn.Parameter(torch.eye(8))

    def forward(self, x):
        return torch.sparse.mm(self.graph, x.new_ones(8, 8)).sum() + x
""",
    """\
import torch

GRAPH = torch.sparse.FloatTensor(torch.tensor([[0], [1]]), torch.ones(1), (2, 2)).to_dense()


def f(x):
    return torch.mm(GRAPH, torch.ones(2, 2))
""",
)


def watches(name: str) -> bool:
    return name.startswith("torch.") or name.rpartition(".")[0].endswith(".untyped_storage")


def check_call(event: Call) -> Hit | None:
    package, _, name = event.qualname.rpartition(".")
    of_class = package == "torch.sparse" and name.endswith("Tensor")
    if of_class or (event.qualname in SPARSE and event.kwargs.get("layout") != External("torch.jagged")):
        return _hit(event, "makes a sparse tensor", DENSE)
    if package.endswith(".untyped_storage") and name not in ("resize_", "size"):
        return _hit(event, "reads the memory of a tensor", "do it outside the compiled function")
    if package == "torch.Tensor" and name in METHODS and event.receiver is not None and may_be_tensor(event.receiver):
        return _hit(event, "needs the memory of the tensor", METHODS[name], event.receiver)
    if not _looks_at_elements(event.qualname):
        return None
    operands = (event.receiver, *event.args) if event.receiver is not None else event.args
    if "out" in event.kwargs and _grows(event.kwargs["out"], operands):
        return _hit(event, "resizes its `out=`", "make the tensor for `out=` with the shape of the result")
    if any(_is_sparse(o) for o in operands):
        return _hit(event, "works on a sparse tensor", DENSE)
    if event.qualname in OF_SPARSE and event.args and _may_be_sparse(event.args[0]):
        return _hit(event, "works on a sparse tensor", DENSE, UNKNOWN)
    return None


@cache
def _looks_at_elements(qualname: str) -> bool:
    """False for what looks at the tensor itself, and for what is not of torch."""
    name = qualname.rpartition(".")[2]
    return qualname.startswith("torch.") and not (name in META_METHODS or name in TORCH_PYTHON or name == "is_tensor")


def _hit(event: Call, what: str, suggestion: str, value: Value | None = None) -> Hit:
    torch = "<2.14" if event.qualname == "torch.Tensor.to_mkldnn" else ""
    return Hit(
        event, f"{code(event)} {what}", suggestion, certainty(event, value), torch=torch, consequence=consequence(event)
    )


def _grows(out: Value, operands: tuple[Value, ...]) -> bool:
    """An empty tensor as ``out=`` of operands that are not empty."""
    filled = any(isinstance(o, Tensor) and (o.sizes is None or 0 not in o.sizes) for o in operands)
    return filled and isinstance(out, Tensor) and out.sizes is not None and 0 in out.sizes


def _may_be_sparse(value: Value) -> bool:
    """Whether nothing is known of it: the module was given it. An argument of the call is taken to be dense."""
    return all(isinstance(option, Unknown) for option in options(value))


def _is_sparse(value: Value) -> bool:
    if type(value) is Tensor:
        return value.sparse
    return type(value) is OneOf and any(isinstance(o, Tensor) and o.sparse for o in value.options)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    rewrites = (stay_dense,) if hit.suggestion == DENSE else (of_final_size, reshape, size_of_memory)
    return first_fit(hit, editor, *rewrites)
