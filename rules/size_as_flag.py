"""A comparison of a size is passed to an operator as a flag.

What: `F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[-2] > 1)`, or the same by way of a name.

Why: A size is a symbol of the graph once it has varied (`dynamic=True`, `mark_dynamic`, or the second length that is
passed), and then so is the comparison. The operator takes a bool and no symbol: the graph breaks there, and
`fullgraph=True` raises. With a size that never varies nothing breaks.

Fix: Decide in Python, which gives a plain bool and one graph for each answer: `is_causal=True if q.shape[-2] > 1 else
False`. `bool(...)` does not help.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, PythonValue, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import code

CODE = "GD219"
NAME = "size-as-flag"
SEVERITY = "warning"
GB_IDS = ("GB0112",)
TORCH = ">=2.6"
VARYING = True

OF_ANY_LENGTH = """

def graphdoctor_target():
    import torch

    x = torch.rand(2, 4, 8)
    torch._dynamo.mark_dynamic(x, 1)
    return f, (x,)
"""

BREAKS = (
    """\
import torch.nn.functional as F


def f(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1)  # GB0112
"""
    + OF_ANY_LENGTH,
    """\
import torch.nn.functional as F


def f(x):
    length = x.size(-2)
    causal = length > 1
    return F.scaled_dot_product_attention(x, x, x, None, 0.0, causal)  # GB0112
"""
    + OF_ANY_LENGTH,
    """\
import torch.nn.functional as F


def f(x, keys=None):
    keys = x if keys is None else keys
    causal = x.shape[1] == keys.shape[1] and x.shape[1] > 1
    return F.scaled_dot_product_attention(x, keys, keys, is_causal=causal)  # GB0112
"""
    + OF_ANY_LENGTH,
)

CLEAN = (
    """\
import torch.nn.functional as F


def f(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True if x.shape[1] > 1 else False)
"""
    + OF_ANY_LENGTH,
    """\
import torch.nn.functional as F


def f(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=x.dim() > 2)
"""
    + OF_ANY_LENGTH,
    """\
import torch.nn.functional as F


def f(x, causal=True):
    return F.scaled_dot_product_attention(x, x, x, is_causal=causal)
"""
    + OF_ANY_LENGTH,
    """\
import torch.nn.functional as F


def f(x, mask=None):
    causal = x.shape[1] > 1
    return F.scaled_dot_product_attention(x, x, x, mask, is_causal=True if causal and mask is None else False)
"""
    + OF_ANY_LENGTH,
)


def watches(name: str) -> bool:
    return name == "torch.nn.functional.scaled_dot_product_attention"


def check_call(event: Call) -> Hit | None:
    value = event.kwargs.get("is_causal", event.args[5] if len(event.args) > 5 else None)
    # ``a == b and a > 1`` is False where the first does not hold, and otherwise what the second gives.
    unsure = [option for option in options(value) if not isinstance(option, Const)] if value is not None else []
    if not unsure or not all(map(_is_compared_size, unsure)):
        return None
    return Hit(
        event,
        f"`is_causal` of {code(event)} is a symbol once the size varies, which the operator does not take: this splits "
        "the graph then, and `fullgraph=True` raises",
        "write `True if ... else False` around the comparison",
        "likely",
    )


def _is_compared_size(value: Value) -> bool:
    return isinstance(value, PythonValue) and value.kind == "bool" and value.shape


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    call = hit.place
    args = call.args if isinstance(call, cst.Call) else ()
    given = [arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "is_causal"]
    if not given or not (isinstance(given[0], cst.Name) or _compares(given[0])):
        return Refusal("The argument is neither a name nor a comparison.")
    end = editor.location(given[0]).end_line, editor.location(given[0]).end_column
    edits = editor.insert_before(given[0], "True if "), Edit(editor.path, end, end, " else False")
    return FixPlan(edits, "safe", "The same bool, decided in Python: one graph for each answer.")


def _compares(value: cst.BaseExpression) -> bool:
    """A comparison, or several joined by ``and`` and ``or``: a bool in any case."""
    if isinstance(value, cst.BooleanOperation):
        return _compares(value.left) and _compares(value.right)
    return isinstance(value, cst.Comparison)
