"""Branches whose sides do several things, as code without a branch: run before and after, and with fullgraph=True."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.flatten import flatten_branch
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan

HEAD = "import logging\nimport torch\n\nlog = logging.getLogger(__name__)\n\n\nclass Kept:\n    pass\n\n\ndef f(x: torch.Tensor, flag=True):\n"

REWRITTEN = {
    "output and a value": "h = x * 2\nif h.max() > 1:\n    log.warning('large')\n    h = h.clamp(-1, 1)\nreturn h",
    "output that reads the new value": "h = x\nif h.max() > 1:\n    h = h * 0.5\n    print(h.shape)\nreturn h",
    "output on the other side": "if x.sum() > 0:\n    y = x * 2\nelse:\n    log.info('negative')\n    y = x - 1\nreturn y",
    "a name that the next statement reads": "y = z = x\nif x.sum() > 0:\n    y = x * 2\n    z = y + 1\nreturn y + z",
    "one name twice": "if x.sum() > 0:\n    y = x * 2\n    y = y + 1\nelse:\n    y = x - 1\nreturn y",
    "an attribute that is new": "self = Kept()\nif x.sum() > 0:\n    self.a = 1 / x\nelse:\n    self.a = x\nreturn self.a",
    "an accumulation": "total = x.sum()\nif x.mean() > 0:\n    total += x.max() * 2\nreturn total",
    "a number that is counted": "n = 0\nif x.sum() > 0:\n    n += 1\nreturn x * n",
    "a branch in a side": "y = x + 1\nif x.mean() > 0:\n    if x.max() > 1:\n        y = x * 2\nreturn y",
    "a branch with else in a side": (
        "y = x\nif x.mean() > 0:\n    y = x + 1\n    if x.max() > 1:\n        y = y * 2\n"
        "    else:\n        y = y * 3\nreturn y"
    ),
    "a branch of Python in a side": "y = x\nif x.mean() > 0:\n    y = x + 1\n    if flag:\n        y = y * 2\nreturn y",
    "a helper that Python chooses in a side": (
        "y = x\nif x.sum() > 0:\n    if flag:\n        z = x * 2\n    elif x.ndim > 3:\n        z = x\n    else:\n        z = x - 1\n"
        "    y = z + 1\n    y[0] = z[1]\nreturn y"
    ),
    "a new tensor of a side, and a name of another block": (
        "y = x * 2\nif x.sum() > 0:\n    part = x.clone()\n    if flag:\n        part[x > 0.5] = 3.0\n    part[0] = x.max()\n"
        "    y = y + part\nif flag:\n    part = y * 2\n    y = y + part\nreturn y"
    ),
    "an elif with output": (
        "if x.sum() > 5:\n    y = x\nelif x.sum() > 0:\n    print('small')\n    y = x * 2\nelse:\n    y = -x\nreturn y"
    ),
    "a helper": "y = x\nif x.sum() > 0:\n    scale = x.abs().max() + 1\n    print('scaled')\n    y = x / scale\nreturn y",
    "a Python part of the test": "y = x\nif flag and x.sum() > 0:\n    print('sum')\n    y = x * 2\nreturn y",
    "changes in place": (
        "y = x * 2\nz = y[0]\nif x.sum() > 0:\n    y.clamp_(max=1)\n    y[0] = 3\n    y[:, 1] += 2\n    z.zero_()\n"
        "    z.fill_(x.max())\nreturn y + z"
    ),
    "a condition of one element that has a dimension": (
        "y = x.sum() * 2\nready = x.mean().reshape(1)\nif ready > 0:\n    y.copy_(x.max())\n    print('a')\nreturn y"
    ),
    "names that are swapped": "a, b = x, x * 2\nif x.sum() > 0:\n    a, b = b, a\nreturn a * 2 + b",
    "an attribute that sides of Python and of data write": (
        "self = Kept()\nself.low = x.mean()\nif x.sum() > 0:\n    self.low = self.low + x.max()\nelif flag:\n"
        "    self.low = torch.min(self.low, x.min())\nelse:\n    self.low = self.low * 2\nreturn self.low"
    ),
    "a list that each side appends to": (
        "out = [x]\nif x.sum() > 5:\n    out.append(x * 2)\nelif flag:\n    print('small')\n    y = x + len(out)\n    out.append(y)\n"
        "else:\n    out.append(-x)\nreturn torch.stack(out)"
    ),
    "a round of a loop that ends early": (
        "out = []\nfor row in x:\n    if row.sum() > 1:\n        out.append(row * 2)\n        continue\n    y = row - 1\n"
        "    out.append(y)\nreturn torch.stack(out)"
    ),
    "two lines in one that end a round": (
        "y = x\nfor row in x:\n    if row.sum() > 1:\n        y = y + row; continue\n    y = y * row\nreturn y"
    ),
    "an entry that each side sets": "out = {}\nif x.sum() > 0:\n    out['a'] = x\nelse:\n    out['a'] = x * 2\nreturn out['a'] + 1",
    "sides that bind several names in a line": (
        "if x.sum() > 5:\n    s = x.abs() + 1\n    a, b = s * 2, x / s\nelif x.sum() > 0:\n    s = x.exp()\n    a = 3 * s\n    b = x - s\n"
        "else:\n    s = x + 1\n    b, a = s * 2, -s\nreturn a - b"
    ),
    "output that is left out already": (
        "y = x\nif x.sum() > 0:\n    if not torch.compiler.is_compiling():\n        print('a')\n        log.info('b')\n"
        "    y = x * 2\nreturn y"
    ),
    "numbers that are computed": "import math\ny = 1.0\nif x.sum() > 0:\n    y = min(math.sqrt(4), 1 / 2)\n    print('a')\nreturn x * y",
    "one place that both sides change": (
        "y = x * 2\nif x.sum() > 0:\n    y[0] /= 1.2  # smaller\nelse:\n    y[0] *= x[0]\nreturn y"
    ),
    "several statements in a line": "y = x\nif x.sum() > 0: y = x * 2; print('b')\nreturn y",
}


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("name", REWRITTEN)
def test_the_code_without_a_branch_is_the_same_program(make: Any, runner: Any, name: str, capsys: Any) -> None:
    import torch

    source = source_of(REWRITTEN[name])
    after = make(source, cst.If).after(flatten_branch)
    inputs = [torch.tensor([[0.1, 0.7], [0.2, 0.9]]), torch.tensor([[-3.0, 1.0], [1.0, 0.5]]), torch.full((2, 2), 4.0)]
    for x in inputs:
        expected, written = runner.eager(source, x.clone()), capsys.readouterr().out
        assert torch.equal(torch.as_tensor(runner.eager(after, x.clone())), torch.as_tensor(expected)), after
        assert capsys.readouterr().out == written
    result = runner.compiled(after, inputs[1])
    assert result.breaks == 0, after
    assert torch.equal(result.value, runner.eager(source, inputs[1].clone()))


@pytest.mark.parametrize("ends_round", [True, False])
def test_losses_of_rows_of_which_some_select_nothing(make: Any, fixed: Any, runner: Any, ends_round: bool) -> None:
    import torch

    head = "import torch\n\n\ndef f(x: torch.Tensor, t: torch.Tensor):\n    out = []\n    for i in range(len(x)):\n"
    lines = ["m = t[i] > 0.3", "if m.sum() == 0:", "    out.append(x[i].sum() * 0)"]
    other = ["err = (x[i] - t[i]).abs()", "w = err[m]", "out.append(w.mean())"]
    lines += ["    continue", *other] if ends_round else ["else:", *(f"    {line}" for line in other)]
    tail = "    return torch.stack(out)\n\n\ndef graphdoctor_target():\n    return f, (torch.rand(3, 4), torch.rand(3, 4))\n"
    source = head + "".join(f"        {line}\n" for line in lines) + tail
    assert "chosen = torch.where(condition, chosen, w.mean())" in make(source, cst.If).after(flatten_branch)
    x, t = torch.rand(3, 4), torch.tensor([[0.1] * 4, [0.9] * 4, [0.1, 0.5, 0.2, 0.7]])
    given = [x.clone().requires_grad_() for _ in range(2)]
    found = runner.eager(source, given[0], t), runner.eager(fixed(source, unsafe=True).text, given[1], t)
    torch.testing.assert_close(found[1], found[0])
    for values in found:
        values.sum().backward()
    torch.testing.assert_close(given[1].grad, given[0].grad)


@pytest.mark.parametrize(
    ("made", "between", "written"),
    [
        ("x.clone()", "", "part[0] = x.max()"),
        # What shares memory with the rest, or was read before, is written under the condition.
        ("y[:2]", "", "part[0] = torch.where(condition, x.max(), part[0])"),
        ("x.clone()", "    y = part\n", "part[0] = torch.where(condition, x.max(), part[0])"),
    ],
)
def test_a_new_tensor_of_a_side_is_written_in_each_call(make: Any, made: str, between: str, written: str) -> None:
    body = f"y = x * 2\nif x.sum() > 0:\n    part = {made}\n{between}    part[0] = x.max()\n    y = y + part\nreturn y"
    after = make(source_of(body), cst.If).after(flatten_branch)
    assert f"    {written}\n" in after


def test_what_only_is_called_like_a_function_of_torch_may_be_seen_by_others(make: Any) -> None:
    body = "y = x * 2\nif x.sum() > 0:\n    part = flag.zeros(2)\n    part[0] = x.max()\n    y = y + part\nreturn y"
    with pytest.raises(Refuse):
        make(source_of(body), cst.If).run(flatten_branch)


def test_a_name_that_other_code_reads_is_no_helper(make: Any) -> None:
    body = "y = x\nif x.sum() > 0:\n    z = x * 2\n    y = z + 1\nif flag:\n    y = y + z\nreturn y"
    with pytest.raises(Refuse, match="`z` is not assigned before the branch"):
        make(source_of(body), cst.If).run(flatten_branch)


def test_comments_of_a_side_stay_at_their_lines(make: Any) -> None:
    body = (
        "y = x\n# above\nif x.sum() > 0:  # beside\n    # first\n    z = x + 1\n    if flag:\n        # flagged\n"
        "        z = z * 2  # twice\n    else:\n        z = -z\n    # last\n    y = z * 3\n    # behind\nreturn y"
    )
    after = make(source_of(body), cst.If).after(flatten_branch)
    lines = [line.strip() for line in after.splitlines()]
    at = lines.index("# above")
    assert lines[at : lines.index("return y")] == [
        "# above", "# beside", "condition = x.sum() > 0", "# first", "z = x + 1", "if flag:", "# flagged",
        "# twice", "z = z * 2", "else:", "z = -z", "# last", "y = torch.where(condition, z * 3, y)", "# behind",
    ]  # fmt: skip


def test_a_comment_above_the_branch_stands_there_once(make: Any) -> None:
    body = "y = x\n# above\nif x.sum() > 0:  # beside\n    print('a')\n    y = x * 2\nreturn y"
    after = make(source_of(body), cst.If).after(flatten_branch)
    assert [after.count(comment) for comment in ("# above", "# beside")] == [1, 1]


def test_sides_that_give_one_name_a_value_are_one_choice(make: Any) -> None:
    body = "n = x.sum()\nif n == 0:\n    y = -x\nelse:\n    y = x / n\nreturn y"
    after = make(source_of(body), cst.If).after(flatten_branch)
    assert "    y = torch.where(condition, -x, x / torch.where(condition, 1, n))\n    return y" in after


REFUSED = {
    "a part of what it was": "h = x\nif x.max() > 1:\n    print('a')\n    h = h[:1]\nreturn h",
    "a change in place by data": "h = x * 2\nif h.max() > 1:\n    h[h > 1] = 2\nreturn h",
    "None before": "h = None\nif x.max() > 1:\n    print(1)\n    h = x\nreturn h",
    "a call that may do anything": "h = x * 2\nif h.max() > 1:\n    calls.append(1)\n    h = h * 2\nreturn h",
    "lists that differ": "a, b = [], []\nif x.sum() > 0:\n    a.append(x)\nelse:\n    b.append(x)\nreturn x, a, b",
    "a list that one side appends to": "a = []\nif x.sum() > 0:\n    a.append(x)\nreturn x, a",
    "a list that gets longer in between": "a = []\nif x.sum() > 0:\n    a.append(x)\n    y = x\nelse:\n    a.append(x)\n    y = x + 1\nreturn y",
    "an entry whose key is computed": "a = {}\nif x.sum() > 0:\n    a[str(x.ndim)] = x\nelse:\n    a[str(x.ndim)] = -x\nreturn a",
    "a list of texts": "a = []\nif x.sum() > 0:\n    a.append('b')\nelse:\n    a.append('c')\nreturn x, a",
    "an attribute that may be None": "self = Kept()\nself.a = x\nif x.sum() > 0:\n    print('a')\n    self.a = x\nreturn x if self.a is None else self.a",
    "a name that is new": "if x.sum() > 0:\n    y = x * 2\n    print('a')\nreturn y",
    "a part of a tuple": "a, b = x, [x]\nif x.sum() > 0:\n    a, *b = x * 2, x\nreturn a, b",
    "names that are swapped and new": "if x.sum() > 0:\n    a, b = x, a\nelse:\n    b, a = x, x\nreturn a + b",
    "a round that appends or not": (
        "a = []\nfor row in x:\n    if row.sum() > 0:\n        a.append(row)\n        continue\n    y = row\nreturn a"
    ),
    "a mask that selects the result": ("y = x\nif x.sum() > 0:\n    print('a')\n    y = x[x > 0.3]\nreturn y"),
    "a return": "if x.sum() > 0:\n    print('a')\n    return x\nreturn x * 2",
    "a text": "s = 'a'\nif x.sum() > 0:\n    print('a')\n    s = 'b'\nreturn x, s",
}


def test_what_an_attribute_may_hold_before_is_said(make: Any) -> None:
    with pytest.raises(Refuse, match=re.escape("`self.a` may be None before the branch")):
        make(source_of(REFUSED["an attribute that may be None"]), cst.If).run(flatten_branch)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_run_on_both_sides_stays(make: Any, name: str) -> None:
    source = source_of(REFUSED[name]).replace("def f", "calls = []\n\n\ndef f")
    with pytest.raises(Refuse):
        make(source, cst.If).run(flatten_branch)


def test_what_is_not_known_to_be_output_alone_is_never_verified(make: Any) -> None:
    """The argument takes an item away, so more than output is left out under compile."""
    body = "h = x * 2\nif h.max() > 1:\n    print({})\n    h = h.clamp(-1, 1)\nreturn h"
    plans = [make(source_of(body.format(shown)), cst.If).run(flatten_branch) for shown in ("h.shape", "next(ITEMS)")]
    assert all(isinstance(plan, FixPlan) and plan.safety == "unsafe" for plan in plans)
    assert [plan.guards_output for plan in plans] == [True, False]
