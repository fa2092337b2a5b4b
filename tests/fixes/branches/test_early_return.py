"""Early returns by tensor data, chosen where the function ends: run before and after, and with fullgraph=True."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.early_return import choose_at_the_end, write_by_choice
from graphdoctor.fixes.branches.shortcuts import NO_MASK, drop_shortcut, keep_mask
from graphdoctor.fixes.core.errors import Refuse

HEAD = "import torch\n\n\ndef f(x: torch.Tensor, flag=True):\n"

REWRITTEN = {
    "lines up to the last return": "if x.sum() > 0:\n    return x * 2\ny = x + 1\ny = y * y\nreturn y",
    "output before it": "if x.sum() > 0:\n    print('positive')\n    return x * 2\nreturn x + 1",
    "its name is bound anew": "if x.sum() > 0:\n    return x\nx = x * 3\nreturn x",
    "a value before it": "y = x\nif x.sum() > 0:\n    y = x * 2\n    return y + 1\nz, w = y, x\nreturn z - w",
    "several results": "if x.sum() > 0:\n    return x * 2, x.sum(), None\nx = x - 1\nreturn (x, x.mean(), None)",
    "Python asks the tensor": "if flag and x.sum() > 0:\n    print('positive')\n    return x * 2\ny = x + 1\nreturn y",
    "Python does not ask the tensor": "if not flag and x.sum() > 0:\n    return x * 2, x\ny = x + 1\nreturn y, x",
    "Python asks, and there is an else": "if flag and x.sum() > 0:\n    return x * 2\nelse:\n    return x + 1",
    "a value of its own before it": "if flag and x.sum() > 0:\n    x = x * 2\n    return x.abs(), x\ny = x + 1\nreturn (y, x)",
    "several values, bound early": "if x.sum() > 0:\n    return x * 2, x\nx = x - 1\ny = x * 2\nreturn y, x",
    "output that is left out already": (
        "if x.sum() > 0:\n    if not torch.compiler.is_compiling():\n        print('positive')\n    return x * 2\n"
        "y = x + 1\nreturn y"
    ),
    "a change of what the lines made": (
        "if x.sum() > 0:\n    return x\ny = -x.view(-1)\ny.masked_fill_(y > 2, 0.5).mul_(2)\ny[0] += 1\nz = y\nz += y\nreturn z"
    ),
    "a list, a loop and a flag": (
        "if x.sum() > 0:\n    return x.sum()\nparts, total = None, None\nparts = []\ntotal = 0.0\nfor i in range(3):\n"
        "    if flag:\n        y = x * i\n    else:\n        y = x + i\n    y.clamp_(min=-1)\n    parts.append(y)\n"
        "    total += y.sum()\nreturn torch.stack(parts).sum() + total"
    ),
    "several results of two sides": (
        "if x.sum() > 0:\n    print('positive')\n    return x * 2, x\nelse:\n    return x - 1, x"
    ),
}


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("name", REWRITTEN)
def test_the_result_is_the_same(make: Any, runner: Any, name: str, capsys: Any) -> None:
    import torch

    source = source_of(REWRITTEN[name])
    after = make(source, cst.If).after(choose_at_the_end)
    inputs = (torch.tensor([0.1, 0.7]), torch.tensor([-3.0, 1.0]))
    for x in inputs:
        expected, written = runner.eager(source, x.clone()), capsys.readouterr().out
        torch.testing.assert_close(runner.eager(after, x.clone()), expected, rtol=0, atol=0)
        assert capsys.readouterr().out == written
    result = runner.compiled(after, inputs[1])
    assert result.breaks == 0
    torch.testing.assert_close(result.value, runner.eager(source, inputs[1].clone()), rtol=0, atol=0)


REFUSED = {
    "a change in place after it": "if x.sum() > 0:\n    return x\nx += 1\nreturn x",
    "a change of a view after it": "if x.sum() > 0:\n    return x * 2\ny = x.view(-1)\ny.mul_(2)\nreturn y",
    "a change of what one path made": (
        "if x.sum() > 0:\n    return x * 2\ny = x\nif flag:\n    y = x * 2\ny += 1\nreturn y"
    ),
    "a change of what the first round made": (
        "if x.sum() > 0:\n    return x * 2\ny = x * 1\nfor _ in range(3):\n    y += 1\n    y = x\nreturn y"
    ),
    "a change in a list": "if x.sum() > 0:\n    return x * 2\ny = [x]\ny[0] += 1\nreturn y[0]",
    "a list from outside": "ys = []\nif x.sum() > 0:\n    return x * 2\nys.append(x)\nreturn ys[0]",
    "a loop that ends early": "if x.sum() > 0:\n    return x\ny = x * 1\nfor i in range(3):\n    break\nreturn y",
    "a call after it": "if x.sum() > 0:\n    return x * 2\nprint('rest')\nreturn x",
    "an attribute after it": "if x.sum() > 0:\n    return x * 2\nf.calls = 1\nreturn x",
    "a loop around it": "for _ in range(2):\n    if x.sum() > 0:\n        return x * 2\n    x = x + 1\nreturn x",
    "no return at the end": "if x.sum() > 0:\n    return x * 2\ny = x",
    "results of other lengths": "if x.sum() > 0:\n    return x, x, x\nreturn x, x",
    "a selection": "m = x > 0\nif m.all():\n    print('all')\n    return x, m\ny = x[m]\nreturn x[m], y",
    "a text": "if x.sum() > 0:\n    return 'a'\ny = x + 1\nreturn y",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_do_more_in_the_early_case_stays(make: Any, name: str) -> None:
    with pytest.raises(Refuse):
        make(source_of(REFUSED[name]), cst.If).run(choose_at_the_end)


SHORTCUTS = {
    "nothing is selected": "found = x[x > 0.5]\nif len(found) == 0:\n    return x[:0]\nreturn found * 2",
    "all is selected": "mask = x > 0.5\nif mask.all():\n    return x * 2\nreturn x[mask] * 2",
}


@pytest.mark.parametrize("name", SHORTCUTS)
def test_a_shortcut_goes(make: Any, runner: Any, name: str) -> None:
    import torch

    source = source_of(SHORTCUTS[name])
    after = make(source, cst.Call, "len(" if "len(" in source else "all(").after(drop_shortcut)
    assert "if" not in after
    for x in (torch.tensor([0.7, 0.9]), torch.tensor([0.1, 0.7]), torch.tensor([0.1, 0.2])):
        torch.testing.assert_close(runner.eager(after, x), runner.eager(source, x), rtol=0, atol=0)


MASKS = {
    "where it masks nothing": "m = x.eq(0)\nif not m.any():\n    m = None\nreturn x if m is None else x.masked_fill(m, 2)",
    "where it keeps all": "m = x > 0\nif bool(m.all()):\n    m = None\nreturn x * 2 if m is None else x * 2 * m",
    "only where it masks": "m = None\nif x.eq(0).any():\n    m = x.eq(0)\nreturn x if m is None else x.masked_fill(m, 2)",
    "as an argument": "m = x.eq(0)\nn = m if m.any() else None\nreturn x if n is None else x.masked_fill(n, 2)",
    "as the other side": "m = x > 0\nn = None if m.all() else m\nreturn x if n is None else x * n",
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_is_kept_where_it_masks_nothing(make: Any, runner: Any, name: str) -> None:
    import torch

    source = source_of(MASKS[name])
    after = make(source, cst.Call, "all(" if "all(" in source else "any(").after(keep_mask)
    assert "all(" not in after and "any(" not in after
    for x in (torch.tensor([0.0, 0.9]), torch.tensor([0.1, 0.7])):
        torch.testing.assert_close(runner.eager(after, x), runner.eager(source, x), rtol=0, atol=0)


@pytest.mark.parametrize(
    "body",
    [
        "m = x.eq(0)\nif m.any():\n    m = None\nreturn m",
        "m = x.eq(0)\nif not m.any():\n    m = None\nelse:\n    x = x + 1\nreturn m, x",
        "m = x.eq(0)\nif not m.any():\n    m = None\n    x = x + 1\nreturn m, x",
        "m = x.eq(0)\nreturn (m if m.any() else x)",
        "m = x.eq(0)\nreturn (x if m.any() else None)",
        "m = x.eq(0)\nn = x\nif not m.any():\n    n = None\nreturn n",
    ],
)
def test_what_drops_no_mask_stays(make: Any, body: str) -> None:
    assert make(source_of(body), cst.Call, "any(").run(keep_mask) == NO_MASK


#: A module whose buffers the first call sets up.
NET = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("mean", torch.zeros(2, dtype=torch.float64))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int))

    def forward(self, x):
        self.set_up(x)
        return x - self.mean

    def set_up(self, x):
"""
BEFORE = """\
        if self.ready:
            return
        self.ready.fill_(True)
        # The first batch decides.
        m = x.mean(0)
        self.mean.copy_(m)
        self.count.data.copy_(torch.tensor([7]))
        return
"""
AFTER = """\
        # The first batch decides.
        condition = self.ready.clone()
        self.ready.copy_(torch.where(condition, self.ready, True))
        m = x.mean(0)
        self.mean.copy_(torch.where(condition, self.mean, m))
        self.count.data.copy_(torch.where(condition, self.count.data, torch.tensor([7]).to(self.count.data)))
"""


def test_a_return_of_nothing(make: Any, runner: Any) -> None:
    """Set or not, NaN and infinity, other dtypes, and a flag that is written before the rest."""
    import torch

    fixed = make(NET + BEFORE, cst.If).after(write_by_choice)
    assert fixed == NET + AFTER
    before, after = (runner.load(text).Net for text in (NET + BEFORE, fixed))
    torch._dynamo.reset()
    for ready in (False, True):
        for value in (1.0, float("nan"), float("inf")):
            nets = before(), after(), after()
            for net in nets:
                net.ready.fill_(ready)
            x = torch.full((3, 2), value)
            expected = nets[0](x)
            torch.testing.assert_close(nets[1](x), expected, equal_nan=True)
            compiled = torch.compile(nets[2], backend="eager", fullgraph=True)
            torch.testing.assert_close(compiled(x), expected, equal_nan=True)
            for net in nets[1:]:
                torch.testing.assert_close(dict(net.named_buffers()), dict(nets[0].named_buffers()), equal_nan=True)


@pytest.mark.parametrize("number", ["torch.tensor(0.0, device=x.device, requires_grad=True)", "torch.tensor(-1)"])
def test_a_constant_takes_the_dtype_of_the_other_result(make: Any, runner: Any, number: str) -> None:
    """A loss in bfloat16 stays one, where a tensor of a number would make it float32."""
    import torch

    source = source_of(f"if x.sum() > 0:\n    return {number}\ny = x * 2\nreturn y.mean()")
    after = make(source, cst.If).after(choose_at_the_end)
    assert "torch.tensor" not in after and "early" not in after
    for x in (torch.tensor([-3.0, 1.0], dtype=torch.bfloat16), torch.tensor([-3.0, 1.0]), torch.tensor([3.0])):
        expected, result = runner.eager(source, x.clone()), runner.eager(after, x.clone())
        torch.testing.assert_close(result, expected.to(x.dtype).detach())
    result = runner.compiled(after, x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)


COUNTED = """\
import torch


def f(x: torch.Tensor, y: torch.Tensor):
    n = (y != -100).sum().item()
    if n == 0:
        return x.sum() * 0.0
    kept = x * (y != -100)
    kept.masked_fill_(y == 3, 0.0)
    total = kept.sum() / n
    return total


compiled = torch.compile(f)
"""


def test_a_mean_over_no_labels_keeps_its_gradient(fixed: Any, runner: Any) -> None:
    """The division by the count always runs now: its gradient would be NaN where there are none."""
    import torch

    after = fixed(COUNTED, unsafe=True).text
    assert "if" not in after and "/ torch.where(condition, 1, n)" in after
    for labels in ([1, -100, 3], [-100, -100, -100], [1, 2, 3]):
        found = []
        for text in (COUNTED, after):
            x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
            result = runner.load(text).f(x, torch.tensor(labels))
            found.append((result.detach(), *torch.autograd.grad(result, x)))
        torch.testing.assert_close(found[1], found[0], rtol=0, atol=0)


def test_a_number_that_decides_something_else_is_to_be_a_tensor(fixed: Any) -> None:
    source = "import torch\n\n\n@torch.compile\ndef f(x):\n    for n in x.long().tolist():\n"
    found = fixed(source + "        if n == 2:\n            print(n)\n            x = x[1:]\n    return x\n").findings
    reasons = [f.fix.reason for f in found if f.rule == "GD217"]
    assert reasons == ["Leave the number in its tensor, compute both sides, and choose with `torch.where`."]


def test_of_a_loop_only_its_author_knows_the_most_rounds(fixed: Any) -> None:
    source = "import torch\n\n\n@torch.compile\ndef f(x, sizes):\n    n = sizes.max().item()\n    for i in range(n):\n"
    found = fixed(source + "        x = x * i\n    return x\n").findings
    reasons = [f.fix.reason for f in found if f.rule == "GD217"]
    assert reasons == ["Only you know how often the loop runs at most: run it that often, and mask what is too much."]


LEAF = "if (x > 0).sum() == 0:\n    return torch.tensor(0.0, requires_grad=True)\ny = x[x > 0].mean()\nreturn y * 2"


def test_a_zero_that_requires_gradients_is_announced(make: Any) -> None:
    plan = make(source_of(LEAF), cst.If).run(choose_at_the_end)
    assert plan.known == ("zero_gradients", "requires_grad")
    assert "requires gradients of its own no longer" in plan.reason
    plain = make(source_of(LEAF.replace(", requires_grad=True", "")), cst.If).run(choose_at_the_end)
    assert plain.known == ("zero_gradients",)


def test_a_constant_like_a_tensor_is_no_side_effect(make: Any, runner: Any) -> None:
    import torch

    source = source_of("if x.sum() > 0:\n    return x.new_tensor(0.5)\ny = x * 2\nreturn y.sum()")
    after = make(source, cst.If).after(choose_at_the_end)
    assert "torch.where(condition, early, y.sum())" in after
    for x in (torch.tensor([0.1, 0.7]), torch.tensor([-3.0, 1.0])):
        torch.testing.assert_close(runner.eager(after, x), runner.eager(source, x), rtol=0, atol=0)
    assert not runner.compiled(after, x, fullgraph=True).breaks


LONG = "x.erf().mean() * 0.123456789 + x.abs().mean() * 0.987654321 + x.cos().mean() * 0.125 + x.sin().mean() * 0.0625"


@pytest.mark.parametrize(
    ("end", "lines"),
    [
        ("(\n    x.mean()\n    + 2 * y\n)", "    return torch.where(condition, early, x.mean() + 2 * y)\n"),
        (
            "(\n    x.mean()  # one\n    + 2 * y\n)",
            "    return torch.where(\n        condition,\n        early,\n        x.mean()  # one\n        + 2 * y,\n    )\n",
        ),
        (
            f"({LONG}\n        + y)",
            f"    return torch.where(\n        condition,\n        early,\n        {LONG}\n        + y,\n    )\n",
        ),
        ("(\n    x.mean()\n    + 2 * y  # two\n)", "+ 2 * y  # two\n"),
        ("(\n    x.mean(),\n    2 * y,\n)", "torch.where(condition, early2, 2 * y)"),
    ],
)
def test_what_stood_on_several_lines_stands_well(make: Any, runner: Any, end: str, lines: str) -> None:
    import torch

    early = "x.sum(), x.sum()" if end.endswith("y,\n)") else "x.sum()"
    source = source_of(f"y = x.max()\nif y > 0.5:\n    return {early}\ny = y * 2\nreturn {end}")
    after = make(source, cst.If).after(choose_at_the_end)
    assert lines in after
    for x in (torch.tensor([0.1, 0.7]), torch.tensor([-3.0, 0.1])):
        torch.testing.assert_close(runner.eager(after, x), runner.eager(source, x), rtol=0, atol=0)
    assert not runner.compiled(after, x, fullgraph=True).breaks
