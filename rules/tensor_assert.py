"""An assertion on tensor data that Dynamo cannot keep in the graph.

What: `assert` on a tensor whose message is not a string literal (an f-string, `%`, `.format`, a named
constant), or whose test is not one plain tensor (`not t`, `a and b`, a chained comparison); `torch._assert`
on a tensor; `torch.testing.assert_close`.

Why: Dynamo rewrites `assert tensor` and `assert tensor, "literal"` into `torch._assert_async`, which stays in
the graph. Any other form becomes a branch on tensor data and splits the graph, also against the hint that
Dynamo prints.

Fix: Write `assert (x > 0).all(), "literal message"`; put `~` or `&` in place of `not` and `and`. The failing
assertion raises RuntimeError under compile.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.branches.branch import rewrite_branch
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.checks import skip_comparison
from graphdoctor.static.domain.events import Assert, Call, Truth
from graphdoctor.static.domain.value_functions import may_be_tensor
from graphdoctor.static.domain.values import Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence, in_assert

CODE = "GD203"
NAME = "tensor-assert"
SEVERITY = "error"
GB_IDS = ("GB0170", "GB0033")
TORCH = ">=2.6"

BREAKS = (
    """\
def f(x):
    assert (x > 0).all(), f"must be positive, got {x.shape}"  # GB0170
    return x.log()
""",
    """\
MESSAGE = "must be positive"


def f(x):
    assert (x > 0).all(), MESSAGE  # GB0170
    return x.log()
""",
    """\
def f(x):
    assert not (x < 0).any(), "must be positive"  # GB0170
    return x.log()
""",
    """\
def f(x):
    assert (x > 0).all() and (x < 100).all(), "out of range"  # GB0170
    return x.log()
""",
    """\
def f(x):
    assert 0 <= x.min() < 10  # GB0170
    return x.log()
""",
    """\
# torch <2.15
import torch


def f(x):
    torch._assert((x > 0).all(), "must be positive")  # GB0033
    return x.log()
""",
    """\
import torch


def f(x):
    torch.testing.assert_close(x, x.clone())  # GB0170
    return x.log()
""",
    """\
# torch >=2.13
def f(x):
    assert (x > 0).all(), ("must be", "positive")  # raises
    return x.log()
""",
)

CLEAN = (
    """\
def f(x):
    assert f"{x.shape}", f"a test that is no tensor {x.shape}"
    return x.log()
""",
    """\
def f(x):
    assert (x > 0).all()
    return x.log()
""",
    """\
def f(x):
    assert (x > 0).all(), "must be positive"
    return x.log()
""",
    """\
def f(x):
    assert (x > 0).all(), "must be " "positive, " + "always"
    return x.log()
""",
    """\
def f(x):
    assert x.shape[-1] == 8, f"expected 8 features, got {x.shape[-1]}"
    return x.log()
""",
    """\
def f(x):
    assert ((x > 0) & (x < 100)).all(), "out of range"
    return x.log()
""",
    """\
def f(x):
    assert x.ndim == 2 and (x > 0).all(), "must be positive"
    return x.log()
""",
    """\
import torch


def f(x):
    torch._assert(x.shape[0] == 4, "batch of four")
    torch._assert_async((x > 0).all(), "must be positive")
    return x.log()
""",
    """\
def f(x, mask=None):
    assert mask is None or mask.shape == x.shape, f"mask does not fit {x.shape}"
    return x.log()
""",
)


def check_assert(event: Assert) -> Hit | None:
    assertion = event.node
    if not isinstance(assertion, cst.Assert) or not may_be_tensor(event.test) or assertion.msg is None:
        return None
    if _folds_to_string(assertion.msg):
        return None
    return _hit(
        event, "has a message that is not a string literal", event.test, "make the message a plain string literal"
    )


def check_truth(event: Truth) -> Hit | None:
    if not in_assert(event) or not may_be_tensor(event.value) or event.context not in ("and", "or", "not", "call"):
        return None
    return _hit(
        event,
        "is not one tensor that the graph can check",
        event.value,
        "make the test one tensor: `~`, `&` and `|` in place of `not`, `and` and `or`",
    )


def watches(name: str) -> bool:
    return name in ("torch.testing.assert_close", "torch._assert", "torch.functional._assert")


def check_call(event: Call) -> Hit | None:
    if event.qualname == "torch.testing.assert_close":
        return _hit(event, "compares tensors in Python", None, 'use `assert torch.isclose(a, b).all(), "message"`')
    if event.args and may_be_tensor(event.args[0]):
        hit = _hit(event, "asks tensor data in Python", event.args[0], "use `torch._assert_async(condition, message)`")
        return replace(hit, torch="<2.15")
    return None


def _hit(event: Assert | Truth | Call, what: str, value: Value | None, suggestion: str) -> Hit:
    return Hit(event, f"{code(event)} {what}: {consequence(event)}", suggestion, certainty(event, value))


def _folds_to_string(node: cst.BaseExpression) -> bool:
    """True for what CPython's compiler turns into one string constant."""
    if isinstance(node, cst.SimpleString):
        return True
    if isinstance(node, cst.ConcatenatedString):
        return _folds_to_string(node.left) and _folds_to_string(node.right)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return _folds_to_string(node.left) and _folds_to_string(node.right)
    if isinstance(node, cst.FormattedString):
        return all(isinstance(part, cst.FormattedStringText) for part in node.parts)
    return False


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.event, Call):
        return skip_comparison(hit, editor)
    return rewrite_branch(hit, editor)
