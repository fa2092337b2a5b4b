"""An assertion that Dynamo cannot keep in the graph.

What: `assert` on a tensor whose message is not a string literal (an f-string, `%`, `.format`, a named
constant), or whose test is not one plain tensor (`not t`, `a and b`, a chained comparison); `torch._assert`
on a tensor; `torch.testing.assert_close`; `assert layers`, where the test is a module, an object, or a list,
tuple or dict that holds tensors, modules or objects.

Why: Dynamo rewrites `assert tensor` and `assert tensor, "literal"` into `torch._assert_async`, which stays in
the graph. Any other form becomes a branch on tensor data and splits the graph, also against the hint that
Dynamo prints. It does the same with whatever is no plain Python constant, and then cannot make a tensor of the object.

Fix: Write `assert (x > 0).all(), "literal message"`; put `~` or `&` in place of `not` and `and`. The failing
assertion raises RuntimeError under compile. Of a list write `assert len(layers) > 0`, of an object
`assert layer is not None`.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.branches.branch import rewrite_branch
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.checks import assert_length, skip_comparison
from graphdoctor.static.domain.events import Assert, Call, Truth
from graphdoctor.static.domain.value_functions import may_be_tensor, options
from graphdoctor.static.domain.values import NONE, Const, Instance, Mapping, OneOf, Seq, Tensor, TorchModule, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence, in_assert, is_handled

CODE = "GD203"
NAME = "tensor-assert"
SEVERITY = "error"
GB_IDS = ("GB0170", "GB0033", "GB0055", "GB0112")
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
# torch >=2.10
def f(x):
    assert (x > 0).all(), ("must be", "positive")  # raises
    return x.log()
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8)])

    def forward(self, x):
        assert self.layers, "no layers"  # GB0055
        for layer in self.layers:
            x = layer(x)
        return x


def graphdoctor_target():
    import torch

    return Net(), (torch.rand(4, 8),)
""",
    """\
class Scale:
    def __init__(self, factor):
        self.factor = factor


def f(x):
    scales = [Scale(2), Scale(3)]
    assert scales  # GB0055
    return x * scales[0].factor
""",
    """\
def total(*terms):
    assert terms, "nothing to add"  # GB0112
    return sum(terms)


def f(x):
    return total(x, x * 2)
""",
    """\
import torch


class Double(torch.distributions.Transform):
    def __call__(self, x):
        return x * 2


def f(x):
    steps = [Double()]
    assert steps  # GB0055
    return steps[0](x)
""",
)

CLEAN = (
    """\
def f(x, sizes=(1, 2)):
    assert sizes and {"a": 1} and [x.shape, None], "sizes"
    return x * len(sizes)
""",
    """\
import enum


class Kind(enum.Enum):
    SUM = 1


def f(x):
    kinds = [Kind.SUM]
    assert kinds, "no kinds"
    return x * len(kinds)
""",
    """\
class Scale:
    factor = 2


def f(x):
    scales = [Scale()]
    if not scales:
        raise ValueError("no scales")
    assert scales, f"no scales for {x.shape}"
    assert scales or x.shape[0] == 4, "neither"
    return x * scales[0].factor
""",
    """\
def total(*terms):
    assert len(terms) > 0, "nothing to add"
    return sum(terms)


def f(x):
    return total(x, x * 2)
""",
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
    if not isinstance(assertion, cst.Assert):
        return None
    literal = assertion.msg is None or _folds_to_string(assertion.msg)
    if not may_be_tensor(event.test):
        return _object_hit(event, assertion.test) if literal and _is_no_constant(event.test) else None
    if literal:
        return None
    return _hit(
        event, "has a message that is not a string literal", event.test, "make the message a plain string literal"
    )


def _object_hit(event: Assert, test: cst.BaseExpression) -> Hit | None:
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        # Its first operand is tested as in an ``if``.
        return None
    holds = any(isinstance(option, (Seq, Mapping)) for option in options(event.test))
    return Hit(
        event,
        f"{code(event, test)} is not a constant, and Dynamo turns what is asserted into a tensor",
        "assert its length: `assert len(...) > 0`" if holds else "assert that it is not None: `assert ... is not None`",
        certainty(event),
        consequence=consequence(event),
    )


def _is_no_constant(test: Value) -> bool:
    """True where each value of ``test`` with which the assertion holds is an object, or holds one or a tensor."""
    true = [o for o in options(test) if not isinstance(o, Const) or o.value]
    return bool(true) and all(map(_is_opaque, true))


def _is_opaque(value: Value) -> bool:
    """Whether ``value`` is known to be, or to hold, what is no constant to Dynamo."""
    if isinstance(value, OneOf):
        return all(map(_is_opaque, value.options))
    if isinstance(value, Seq):
        # A generator, a map or a zip has no length.
        return value.kind in ("list", "tuple") and any(
            map(_is_opaque, value.items if value.items is not None else (value.element,))
        )
    if isinstance(value, Mapping):
        return any(_is_opaque(item) for _, item in value.items)
    if isinstance(value, Instance):
        # Members of an enum and named tuples are constants.
        bases = set(value.info.externals) - {"object", "builtins.object", "abc.ABC"}
        return value.info.is_module or all(base.startswith("torch.") for base in bases)
    return isinstance(value, (Tensor, TorchModule))


def check_truth(event: Truth) -> Hit | None:
    if not in_assert(event) or not may_be_tensor(event.value) or event.context not in ("and", "or", "not", "call"):
        return None
    if event.context == "not" and isinstance(event.node, cst.Name) and NONE in options(event.value):
        # That it is not given is what is asserted: a tensor of several elements raises in eager.
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
        hit = _hit(event, "tests tensor data in Python", event.args[0], "use `torch._assert_async(condition, message)`")
        return replace(hit, torch="<2.15")
    return None


def _hit(event: Assert | Truth | Call, what: str, value: Value | None, suggestion: str) -> Hit:
    if is_handled(event):
        suggestion = "choose with `torch.where`: a handler does not see what an assert inside the graph raises"
    return Hit(event, f"{code(event)} {what}", suggestion, certainty(event, value), consequence=consequence(event))


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
    if isinstance(hit.event, Assert) and not may_be_tensor(hit.event.test):
        return assert_length(hit.event, editor)
    return rewrite_branch(hit, editor)
