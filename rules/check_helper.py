"""`torch._check` and similar functions get arguments that Dynamo cannot trace.

What: `torch._check_tensor_all` (and transformers' `torch_compilable_check` on tensors), `torch._check` with a
tensor as the condition, and `torch._check` whose message is a lambda that uses a local variable, or a text.

Why: `_check_tensor_all` reads the tensor with `.item()`, so it splits the graph by default although it is
called compile-safe; `torch._check` accepts bools only; and a message with a closure is not traced, nor is a text:
torch asks for a function that gives it, also in eager, once the check fails.

Fix: Use `torch._assert_async(condition.all(), "message")` for tensor data. For shapes use
`torch._check(x.shape[0] == n, lambda: "text")`, with a message that is constant.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.checks import check_in_graph, constant_check
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import may_be_tensor, options
from graphdoctor.static.domain.values import UNKNOWN, Const, LazyText, PythonValue, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

from ._shared import certainty, code, consequence

CODE = "GD505"
NAME = "check-helper"
SEVERITY = "error"
GB_IDS = ("GB0124", "GB9158", "GB9840")
TORCH = ">=2.6"

TENSOR_CHECKS = ("torch._check_tensor_all", "torch._check_tensor_all_with")
CHECKS = ("torch._check", "torch._check_value", "torch._check_index", "torch._check_type")
COMPILABLE_CHECK = "torch_compilable_check"

BREAKS = (
    """\
import torch


def f(x):
    torch._check_tensor_all(x > 0, lambda: "must be positive")  # GB0124
    return x.log()
""",
    """\
import torch


def f(x):
    torch._check(x.shape[0] == 4, lambda: f"expected 4 rows, got {x.shape}")  # GB9158
    return x.log()
""",
    """\
# torch >=2.10,<2.14
import torch


def f(x):
    torch._check(x.shape[0] == 4, "expected 4 rows")  # GB9840
    return x.log()
""",
)

CLEAN = (
    """\
import torch


def f(x):
    torch._assert_async((x > 0).all(), "must be positive")
    return x.log()
""",
    """\
# torch >=2.10
import torch


def f(x):
    torch._check(x.shape[0] == 4, lambda: "expected 4 rows")
    return x.log()
""",
    """\
# torch >=2.13
import torch


def f(x):
    torch._check(x.shape[0] == 4)
    torch._check_value(x.ndim == 2, lambda: "expected a matrix")
    return x.log()
""",
    """\
import torch


def f(x):
    torch._check_is_size(x.shape[0])
    return x.log()
""",
)


def watches(name: str) -> bool:
    return name in TENSOR_CHECKS or name in CHECKS or name.endswith("." + COMPILABLE_CHECK)


def check_call(event: Call) -> Hit | None:
    name = event.qualname
    if name in TENSOR_CHECKS or (name.endswith("." + COMPILABLE_CHECK) and event.args and may_be_tensor(event.args[0])):
        return _hit(event, "reads the tensor with `.item()`", 'use `torch._assert_async(condition.all(), "message")`')
    if name in CHECKS and event.args and may_be_tensor(event.args[0]):
        return _hit(event, "accepts only bools, not tensor data", 'use `torch._assert_async(condition, "message")`')
    message = event.kwargs.get("message") or (event.args[1] if len(event.args) > 1 else UNKNOWN)
    if name in CHECKS and all(map(_is_text, options(message))):
        hit = _hit(event, "has a string as its message, not a function", "put `lambda:` before the string")
        return replace(hit, torch=">=2.10,<2.14")
    if _message_has_closure(event.node):
        return _hit(event, "has a message with a closure, which is not traced", "make the message a constant string")
    return None


def _hit(event: Call, what: str, suggestion: str) -> Hit:
    return Hit(event, f"{code(event)} {what}", suggestion, certainty(event), consequence=consequence(event))


def _is_text(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, str)
    return isinstance(value, LazyText) or (isinstance(value, PythonValue) and value.kind == "str")


def _message_has_closure(call: cst.CSTNode) -> bool:
    """True for ``lambda: f"... {x}"``: a message made from local names."""
    if not isinstance(call, cst.Call):
        return False
    lambdas = [arg.value for arg in call.args if isinstance(arg.value, cst.Lambda)]
    return any(isinstance(node, cst.Name) for each in lambdas for node in walk(each.body))


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    # What checks tensors takes nothing else, whatever is known of its argument.
    event = hit.event
    if isinstance(event, Call) and event.qualname not in TENSOR_CHECKS and not any(map(may_be_tensor, event.args[:1])):
        return first_fit(hit, editor, constant_check)
    return first_fit(hit, editor, check_in_graph)
