"""Choices by tensor data as torch.where: run before and after, in eager, by default and with fullgraph=True."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.where import choose_with_where
from graphdoctor.fixes.core.apply import apply
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan

HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef f(x: torch.Tensor, flag=True, limit=0.5):\n"

REWRITTEN = {
    "a condition of one element that has a dimension": (
        "if x.sum().reshape(1) > 0:\n    y = x.max()\nelse:\n    y = x.min()\nreturn y"
    ),
    "two arms": "if x.sum() > 0:\n    y = x * 2\nelse:\n    y = x - 1\nreturn y",
    "no else": "if x.abs().max() > 1:\n    x = x * 0.5\nreturn x",
    "several names": "if x.mean() > 0:\n    y = x * 2\n    z = x + 1\nelse:\n    y = -x\n    z = x\nreturn y * z",
    "elif chain": "if x.sum() > 9:\n    y = x\nelif x.sum() < 0:\n    y = -x\nelse:\n    y = x * 3\nreturn y",
    "early return": "if x.sum() > 0:\n    return x.relu()\nreturn x + 1",
    "return with else": "if torch.isnan(x).any():\n    return torch.nan_to_num(x)\nelse:\n    return x",
    "three returns": "if x.sum() > 5:\n    return x\nelif x.sum() > 0:\n    return x * 2\nreturn -x",
    "ternary": "return x * (2 * x if x.min() < 0 else x)",
    "and of tensors": "if (x > 0).all() and x.sum() > 1:\n    x = x + 1\nreturn x",
    "or and not": "if not (x > 0).all() or not x.sum() > 1:\n    x = x + 1\nreturn x",
    "float condition": "if x.sum():\n    x = x + 1\nreturn x",
    "python part": "if flag and x.sum() > 0:\n    x = x * 2\nreturn x",
    "item in the condition": "if x.max().item() > 0.5:\n    x = x * 2\nreturn x",
    "local condition": "bad = torch.isinf(x).any()\nif bad:\n    x = torch.zeros_like(x)\nreturn x",
    "chained comparison": "if 0 < x.sum() < 5:\n    x = x * 2\nreturn x",
    "functional": "if x.mean() > 0:\n    y = F.gelu(x)\nelse:\n    y = F.relu(x)\nreturn y",
    "same reduction": "if x.max() > 2:\n    y = x.mean(dim=1)\nelse:\n    y = x.amax(dim=1)\nreturn y",
    "called twice": "if 0 < float(x.sum()) < 5:\n    x = x * 2\nreturn x",
    "a long return behind a flag": (
        "if flag and x.sum() > 0:\n    # The sum is large.\n    return torch.clamp(x * 2 + 1, -limit, limit).sigmoid()\n"
        "return torch.clamp(x.relu() * 3 - limit, -limit, limit).tanh().sigmoid()"
    ),
    "number arm": "if x.sum() > 0:\n    s = 1.5\nelse:\n    s = x.mean()\nreturn x * s",
}


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


def branch_case(make: Any, body: str) -> Any:
    kind = cst.IfExp if " if " in body else cst.If
    return make(source_of(body), kind)


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewrite_equals_eager_and_compiles_to_one_graph(make: Any, runner: Any, name: str) -> None:
    import torch

    source = source_of(REWRITTEN[name])
    after = branch_case(make, REWRITTEN[name]).after(choose_with_where)
    inputs = [torch.tensor([[0.1, 0.7], [0.2, 0.9]]), torch.tensor([[-3.0, 1.0], [1.0, 0.5]]), torch.full((2, 2), 4.0)]
    assert runner.compiled(source, inputs[0]).breaks > 0
    for x in inputs:
        expected = runner.eager(source, x.clone())
        assert torch.equal(runner.eager(after, x.clone()), expected)
    result = runner.compiled(after, inputs[1])
    assert (result.breaks, result.graphs) == (0, 1)
    assert torch.equal(runner.compiled(after, inputs[1], fullgraph=True).value, runner.eager(source, inputs[1]))


def test_comments_of_the_branch_stay(make: Any) -> None:
    body = "if x.sum() > 0:  # positive\n    # double it\n    y = x * 2\nelse:\n    y = x\nreturn y"
    after = branch_case(make, body).after(choose_with_where)
    lines = "    # positive\n    # double it\n    y = torch.where(x.sum() > 0, x * 2, x)\n    return y\n"
    assert after == HEAD + lines


#: The tensor is floating: something that ran before would have raised for another dtype.
FLOATING = "x = F.elu(x)\n"

SAFE = {
    "same dtype for all": "if x.sum() > 0:\n    y = x * 2\nelse:\n    y = x + 3\nreturn y",
    "floating by what was computed": FLOATING + "if x.sum() > 0:\n    y = x * 2\nelse:\n    y = x - 1\nreturn y",
    "floating by the condition": "if x.mean() > 0:\n    y = x.relu()\nelse:\n    y = -x\nreturn y",
    "the new tensor is only read": FLOATING + "if x.abs().max() > 1:\n    x = x * 0.5\nreturn x + 1",
    "elif chain": FLOATING
    + "if x.sum() > 9:\n    y = x + 1\nelif x.sum() < 0:\n    y = -x\nelse:\n    y = x * 3\nreturn y",
    "two returns": FLOATING + "if x.sum() > 0:\n    return x.relu()\nreturn x + 1",
    "same reduction": FLOATING + "if x.max() > 2:\n    y = x.mean(dim=0)\nelse:\n    y = (x + 1).mean(dim=0)\nreturn y",
    "item compared with a number that all dtypes hold": "if x.sum().item() > 3:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
    "float of an item": "if float(x.sum().item()) > 3:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
    "a name for the condition": "bad = x.isnan().any()\nif bad:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
    "part of an expression": FLOATING + "return x * (2 * x if x.min() < 0 else x + x)",
}

#: Each of these differs in eager for some input.
UNSAFE = {
    "bool times 2 is int64": ("if x.sum() > 0:\n    x = x * 2\nreturn x + 1", "equal for floating-point tensors"),
    "bool minus 1 raises": (
        "if x.sum() > 0:\n    y = x - 1\nelse:\n    y = x + 1\nreturn y",
        "equal for floating-point",
    ),
    "mean of ints raises": (
        "if x.sum() > 0:\n    y = x.mean(dim=0)\nelse:\n    y = (x / 2).mean(dim=0)\nreturn y",
        "equal for floating-point",
    ),
    "remainder and quotient": (
        "if x.sum() > 0:\n    y = x % 2\nelse:\n    y = x / 2\nreturn y",
        "equal for floating-point",
    ),
    "amax of nothing raises": (
        FLOATING + "if x.sum() > 0:\n    y = x.amax(dim=0)\nelse:\n    y = x.mean(dim=0)\nreturn y",
        "no elements",
    ),
    "amax has NaN gradients": (
        FLOATING + "if x.max() > 0:\n    y = x.amax(dim=0)\nelse:\n    y = x.sum(dim=0)\nreturn y",
        "gradients NaN",
    ),
    "gradient of silu": (
        FLOATING + "if x.sum() > 0:\n    y = F.silu(x)\nelse:\n    y = x * 2\nreturn y",
        "gradients NaN",
    ),
    "gradient of a square": (
        FLOATING + "if x.sum() > 0:\n    y = x * x\nelse:\n    y = x * 2\nreturn y",
        "gradients NaN",
    ),
    "gradient of tanh": (
        FLOATING + "if x.sum() > 0:\n    y = x.tanh()\nelse:\n    y = x * 2\nreturn y",
        "gradients NaN",
    ),
    "detached": (FLOATING + "if x.sum() > 0:\n    y = x.detach() * 2\nelse:\n    y = x * 2\nreturn y", "no gradient"),
    "the input is returned": (FLOATING + "if x.sum() > 0:\n    x = x * 2\nreturn x", "a later write would show"),
    "a view is returned": (FLOATING + "if x.sum() > 0:\n    x = x * 2\nreturn x.view(-1)", "a later write would show"),
    "written later": (FLOATING + "if x.sum() > 0:\n    x = x * 2\nx[0] = 1\nreturn x + 1", "a later write would show"),
    "the tensor is changed before gradients are computed": (
        FLOATING + "y = x + 1\nz = y.erf() if y.sum() > 0 else y.sigmoid()\ny.mul_(2)\nreturn z",
        "changed in place",
    ),
    "a number that float16 rounds": (
        "if x.sum().item() > 0.1:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
        "the condition is not proved",
    ),
    "a number that uint8 cannot hold": (
        "if x.max().item() > -1:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
        "the condition is not proved",
    ),
    "float warns of a gradient that is lost": (
        "if float(x.sum()) > 3:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
        "the condition is not proved",
    ),
    "a caller may pass a tensor with dimensions": (
        "if x.sum() > limit:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
        "the condition is not proved",
    ),
    "a number that no whole number holds": (
        "if x.isnan().any() and x.sum() > 100000:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
        "the condition is not proved",
    ),
    "a number that is infinite in float32": (
        FLOATING + "if x.sum() > 0:\n    y = x * 1e39\nelse:\n    y = x * 3\nreturn y",
        "not proved to have the same",
    ),
    "a number that raises": (
        FLOATING + "if x.sum() > 0:\n    y = x * 100000000000000000000\nelse:\n    y = x * 3\nreturn y",
        "not proved",
    ),
    "sum is float32 in autocast": (
        FLOATING + "if x.sum() > 0:\n    y = x.sum()\nelse:\n    y = x.mean()\nreturn y",
        "in autocast",
    ),
    "compared by identity later": (
        FLOATING + "y = x\nif x.sum() > 0:\n    x = x * 2\nreturn x + (x is y)",
        "a later write would show",
    ),
    "what was not computed before proves nothing": (
        "y = 1 < 0 < x.mean()\nif x.sum() > 0:\n    y = x - 1\nelse:\n    y = x * 3\nreturn y",
        "equal for floating",
    ),
    "nor does the message of an assert": (
        "assert flag, x.mean()\nif x.sum() > 0:\n    y = x - 1\nelse:\n    y = x * 3\nreturn y",
        "equal for floating",
    ),
    "no method of tensors": (
        FLOATING + "if x.sum() > 0:\n    y = x.tanhshrink()\nelse:\n    y = x.tanh()\nreturn y",
        "not proved",
    ),
    "a condition with dimensions": (
        "if x > 0:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
        "the condition is not proved",
    ),
    "the second operand raises for complex": (
        "if x.isnan().any() and x.max() > 0:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
        "the condition is not proved",
    ),
    "the strides of a side": (
        "if x.isnan().any():\n    y = x.contiguous() + 1\nelse:\n    y = x * 2\nreturn y.t()",
        "not proved",
    ),
    "no gradient for complex": (
        "if x.isnan().any():\n    x = x.nan_to_num()\nreturn x * 2",
        "another dtype may change the result's dtype or raise",
    ),
    "numbers": ("if x.sum() > 0:\n    s = 0.1\nelse:\n    s = 1.5\nreturn x * s", "Python numbers become tensors"),
}


@pytest.mark.parametrize("name", SAFE)
def test_safe_where_everything_is_proved(make: Any, runner: Any, name: str) -> None:
    import torch

    plan = branch_case(make, SAFE[name]).run(choose_with_where)
    assert isinstance(plan, FixPlan) and plan.safety == "safe", plan
    after = apply(source_of(SAFE[name]), plan.edits)
    for values in ([[1.0, -2.0]], [[3.0, 4.0], [float("inf"), 1.0]], [[float("nan"), 1.0]], [[-1.0], [-9.0]]):
        inputs = [torch.tensor(values, requires_grad=True) for _ in range(2)]
        results = [runner.eager(text, x) for text, x in zip((source_of(SAFE[name]), after), inputs, strict=True)]
        for result in results:
            result.sum().backward()
        torch.testing.assert_close(*results, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(inputs[0].grad, inputs[1].grad, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_where_some_input_shows_a_difference(make: Any, name: str) -> None:
    body, reason = UNSAFE[name]
    plan = branch_case(make, body).run(choose_with_where)
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe" and reason in plan.reason, plan


@pytest.mark.parametrize(
    "body, risk",
    [
        ("if x.sum() > 0:\n    x = x / x.sum()\nreturn x", "the division on the side not taken can make gradients NaN"),
        ("if x.sum() > 0:\n    x = x.log()\nreturn x", "`log` of the side not taken can make gradients NaN"),
        ("if x.sum() > 0:\n    x = x ** 0.5\nreturn x", "the division on the side not taken can make gradients NaN"),
        (
            "if x.sum() > 0:\n    x = x * y\nreturn x",
            "the sides are not proved to have the same shape, dtype, device and gradients",
        ),
        ("if x.sum() > 0:\n    x = x[flag]\nreturn x", "`x[flag]` is read even when it is not taken"),
        ("if x.sum() > 0:\n    x = x + torch.rand_like(x)\nreturn x", "`rand_like` draws random numbers on both sides"),
        ("if x.sum() > 0:\n    x = x * 2\nx += 1\nreturn x", "a later change in place would act on the new tensor"),
        ("if x.sum() > 0:\n    x = x * 2\nx.add_(1)\nreturn x", "a later change in place would act on the new tensor"),
    ],
)
def test_unsafe_says_what_may_change(make: Any, body: str, risk: str) -> None:
    plan = branch_case(make, body).run(choose_with_where)
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe" and risk in plan.reason, plan


def test_what_an_attribute_keeps_beyond_the_call_is_unsafe(make: Any) -> None:
    source = (
        "import torch\n\n\nclass N(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        if x.mean() > 0:\n            self.last = x * 2\n        else:\n            self.last = x * 3\n"
    )
    plan = make(source, cst.If).run(choose_with_where)
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe", plan
    assert "`self.last` keeps the result, with what its gradient needs, beyond this call" in plan.reason


@pytest.mark.parametrize("name", ["a", "mean", "relu"])
def test_submodule_calls_are_unsafe(make: Any, name: str) -> None:
    source = "import torch\n\n\nclass N(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        if x.sum() > 0:\n            x = self.a(x)\n        return x\n"
    plan = make(source.replace("self.a", f"self.{name}"), cst.If).run(choose_with_where)
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe" and f"`self.{name}` now always runs" in plan.reason


@pytest.mark.parametrize(
    "body, reason",
    [
        ("if x.sum() > 0:\n    raise ValueError\nelse:\n    x = x * 2", "a side raises instead of assigning a name"),
        (
            "if x.sum() > 0:\n    x += 1\nelse:\n    x = x * 2",
            "a side changes a value in place instead of assigning a name",
        ),
        ("if x.sum() > 0:\n    x.add_(1)\nelse:\n    x = x * 2", "a side runs a call instead of assigning a name"),
        ("if x.sum() > 0:\n    pass\nelse:\n    x = x * 2", "a side does nothing instead of assigning a name"),
        ("if x.sum() > 0:\n    x = x * 2\nelse:\n    y = x * 2", "the sides assign different names"),
        ("if x.sum() > 0:\n    x[0] = 1\nelse:\n    x = x", "a side assigns to something other than one plain name"),
        (
            "if x.sum() > 0:\n    y = x\n    z = y * 2\nelse:\n    y = x\n    z = x",
            "a side uses a name that it has just assigned",
        ),
        (
            "y, z = x, x\nif x.shape[0] and y.sum() > 0:\n    y = x * 2\n    z = x",
            "the condition reads a name that a side assigns, or calls a function, more than once",
        ),
        ("if x.sum() > 0:\n    y = x * 2\nreturn y", "`y` is not assigned before the branch"),
        ("y = None\nif x.sum() > 0:\n    y = x * 2\nreturn y", "`None` is not a tensor"),
        ("y: object = None\nif x.sum() > 0:\n    y = x * 2\nreturn y", "`None` is not a tensor"),
        (
            "import numpy as np\nn = max(np.arange(3))\nif x.sum() > 0:\n    n = 4\nreturn x * n",
            "`max(np.arange(3))` may be a value of numpy, which is no tensor",
        ),
        (
            "import numpy as np\nn = x.shape[0] - min(np.arange(3))\nif n > 2:\n    n = 4\nreturn x * n",
            "it is not clear which part of `n > 2` is tensor data",
        ),
        (
            "import numpy as np\nn = sum(np.arange(3))\nif n > 2:\n    x = x * 4\nreturn x",
            "it is not clear which part of `n > 2` is tensor data",
        ),
        ("if x.sum() > 0:\n    y = [x]\nelse:\n    y = [x, x]", "`[x]` is not a tensor"),
        ("if x.sum() > 0:\n    y = True\nelse:\n    y = False", "`True` is not a tensor"),
        (
            "from enum import Enum\nclass Side(Enum):\n    LEFT = 0\n    RIGHT = 1\n"
            "if x.sum() > 0:\n    y = Side.LEFT\nelse:\n    y = Side.RIGHT",
            "`Side.LEFT` is not a tensor",
        ),
        (
            "if x.sum() > 0:\n    y = helper(x)\nelse:\n    y = x",
            "`helper(x)` may have side effects, and both sides would run",
        ),
        (
            "if x.sum() > 0:\n    y = x.clamp_(0)\nelse:\n    y = x",
            "`x.clamp_(0)` may have side effects, and both sides would run",
        ),
        ("if x.sum() > 0:\n    y = (z := x)\nelse:\n    y = x", "`(z := x)` awaits, yields or assigns"),
        ("if x.sum() > 0:\n    return x\ny = x\nreturn y", "the return of the other side does not follow directly"),
        ("if x.sum() > 0:\n    y = x\n    return y\nreturn x", "a side does more than return a value"),
        ("if x.sum() > 0:\n    return\nreturn x", "a side returns nothing"),
        ("if x.sum() > 0:\n    x = x[x > 0]\nreturn x", "one side selects by a mask, so the sides differ in size"),
        (
            "keep = flags[0]\nif keep.all():\n    return x\nreturn x[keep]",
            "one side selects by a mask, so the sides differ in size",
        ),
        (
            "keep = x > 0\nif x.sum() > 0:\n    return x[:, keep] * 2\nreturn x",
            "one side selects by a mask, so the sides differ in size",
        ),
        (
            "y = 1.0\nif x.sum() > 0:\n    y = x.max().item()\nreturn y",
            "`x.max().item()` reads data, so the graph would end there all the same",
        ),
        ("if x.sum() > 0:\n    x = x[:, :3]\nreturn x", "one side is a part of the other, so the sides differ in size"),
        (
            "n = x.sum().long()\nif x.sum() > 0:\n    return x\nreturn x[:n]",
            "one side ends where data says, so the sides differ in size",
        ),
        (
            "if 0 < x.mul(flag(x)).sum() < 2:\n    x = x * 2\nreturn x",
            "`flag(x)` would be called twice; give it a name",
        ),
        ("if flag > 0:\n    return x\nreturn x + 1", "it is not clear which part of `flag > 0` is tensor data"),
        (
            "if x.sum() > 0 and flag:\n    return x\nreturn -x",
            "`flag` is not known to be tensor data, and Python and tensor conditions do not mix",
        ),
        (
            "if int(x.sum()) > 0:\n    return x\nreturn -x",
            "int() cuts off the fraction, which the tensor would keep",
        ),
        (
            "return x if x.sum() > 0 else (-x if x.sum() < -1 else x * 2)",
            "conditional expressions are nested; write them as one if chain",
        ),
    ],
)
def test_refusals(make: Any, body: str, reason: str) -> None:
    assert branch_case(make, body).refusal(choose_with_where) == f"torch.where does not fit: {reason}."


def test_refuses_names_of_outer_scopes_and_module_level(make: Any) -> None:
    body = "global y\nif x.sum() > 0:\n    y = x\nelse:\n    y = -x"
    assert "a side assigns a name of an outer scope" in branch_case(make, body).refusal(choose_with_where)
    reason = make("if x.sum() > 0:\n    y = x\nelse:\n    y = -x\n", cst.If).refusal(choose_with_where)
    assert reason == "torch.where does not fit: the code is not in a function."


def test_a_line_that_would_be_too_long_is_broken(make: Any) -> None:
    value = "torch.tanh(x * 0.5 + 1.5 - 0.25 + 0.125) + torch.sigmoid(x * 2.5 - 1.0)"
    source = f"import torch\n\n\ndef f(x):\n    if x.sum() > 0:\n        x = {value}\n    else:\n        x = x - {value}\n    return x\n"
    after = make(source, kind=cst.If, value=Tensor("bool", 0)).after(choose_with_where)
    assert (
        f"    x = torch.where(\n        x.sum() > 0,\n        {value},\n        x - {value},\n    )\n    return x\n"
        in after
    )


@pytest.mark.parametrize(
    ("branch", "reason"),
    [
        ("if n > 2:\n    x = x * 2", "it is not clear which part of `n > 2` is tensor data"),
        ("m = x.mean()\nif x.sum() > 2:\n    m = n", "`n` may be a value of numpy, which is no tensor"),
    ],
)
def test_what_is_of_numpy_on_one_path_is_refused(make: Any, branch: str, reason: str) -> None:
    body = f"import numpy as np\nif flag:\n    n = np.arange(3).max()\nelse:\n    n = x.sum()\n{branch}\nreturn x * n"
    case = make(source_of(body), cst.If, "> 2")
    assert case.refusal(choose_with_where) == f"torch.where does not fit: {reason}."


def test_a_long_return_behind_a_flag_stays_a_branch_of_python(make: Any) -> None:
    after = branch_case(make, REWRITTEN["a long return behind a flag"]).after(choose_with_where)
    assert "    if flag:\n        return torch.where(\n" in after
    assert max(map(len, after.splitlines())) <= 120


CHECKED = """\
import torch


def f(x, weight=None):
    if weight is not None and weight.sum() > 0:
        return (x * weight).sum()
    else:
        assert {}
        return x.sum()


def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.rand(4, 8))
"""


def test_what_python_asserts_for_one_side_is_asserted_for_both(fixed: Any, runner: Any) -> None:
    import torch

    source = CHECKED.format("x.numel() != 0")
    after = fixed(source, unsafe=True).text
    assert (
        "    assert x.numel() != 0\n    return torch.where(weight.sum() > 0, (x * weight).sum(), x.sum()) if weight"
        in after
    )
    x = torch.randn(4, 8)
    for given in ((x, x.abs()), (x, -x.abs()), (x,), (x[:1], torch.zeros(1, 8)), (x.double(), x.double().abs())):
        found = runner.compiled(after, *given, fullgraph=True)
        assert found.graphs == 1 and torch.equal(found.value, runner.eager(source, *given))
    for text in (source, after):
        with pytest.raises(AssertionError):
            runner.eager(text, x[:0], x[:0])


@pytest.mark.parametrize("test", ["x.sum() > 0", "print(x.shape) is None", "x.numel() != 0 and x.ndim"])
def test_what_data_or_other_calls_decide_is_asserted_for_one_side(fixed: Any, test: str) -> None:
    source = CHECKED.format(test)
    assert "        assert" in fixed(source, unsafe=True).text
