"""What is said of a value that is computed for all elements in place of those that a mask selects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


@torch.compile
def f(x: torch.Tensor):
    out = torch.zeros_like(x)
    m = x > 0
    out[m] = {}
    return out
"""


@pytest.mark.parametrize(
    ("value", "named"),
    [("x[m].acos()", "acos"), ("x[m].logit()", "logit"), ("x[m].sqrt()", ""), ("1 / x[m]", ""), ("x[m] * 2", "")],
)
def test_what_may_make_gradients_nan_is_named(tmp_path: Path, value: str, named: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE.format(value))
    (finding,) = analyse([(file, "model.py")]).findings
    assert finding.fix is not None
    said = f" `{named}` outside the mask can make gradients NaN." if named else ""
    assert finding.fix.reason == f"The value is computed for all elements and kept where the mask is true.{said}"


FINITE = """\
import torch


@torch.compile
def f(x: torch.Tensor, y: torch.Tensor):
    out = torch.ones_like(y)
    m = y > 0
    {}
    return out
"""


@pytest.mark.parametrize(
    ("statement", "written"),
    [
        ("out[m] = x[m] / y[m]", "x / torch.where(m, y, 1)"),
        ("out[m] = 1 - (x[m] / (y[m] + x[m]))", "1 - (x / torch.where(m, y + x, 1))"),
        ("out[m] = y[m].log()", "torch.where(m, y, 1).log()"),
        ("out[m] = torch.sqrt(y[m]) * x[m]", "torch.sqrt(torch.where(m, y, 1)) * x"),
        ("out[m] = y[m] ** 0.4", "torch.where(m, y, 1) ** 0.4"),
        ("out[m] = (800 * y[m].neg()).exp()", "torch.where(m, 800 * y.neg(), 1).exp()"),
        ("out[m] /= y[m]", "out.clone() / torch.where(m, y, 1)"),
        ("out[m] *= x[m] / y[m]", "out.clone() * (x / torch.where(m, y, 1))"),
        ("out[y > 0] = x[y > 0] / y[y > 0]", "x / torch.where(y > 0, y, 1)"),
    ],
)
def test_what_the_mask_leaves_out_keeps_finite_gradients(fixed: Any, statement: str, written: str) -> None:
    import torch

    source = FINITE.format(statement)
    after = fixed(source, unsafe=True).text
    assert written in after
    found = []
    for text in (source, after):
        names: dict[str, Any] = {}
        exec(text.replace("@torch.compile\n", ""), names)
        x = torch.tensor([1.0, 2.0, 0.0, 3.0], requires_grad=True)
        y = torch.tensor([0.0, 0.5, -1.0, 4.0], requires_grad=True)
        out = names["f"](x, y)
        found.append((out, *torch.autograd.grad(out.sum() + x.sum(), (x, y))))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_a_mask_that_is_computed_by_a_call_is_written_once(fixed: Any) -> None:
    source = FINITE.format("y[(y - 1).abs() > 0.5] = 1 / y[(y - 1).abs() > 0.5]")
    after = fixed(source, unsafe=True)
    assert after.text.count("abs()") == 1
    assert "`division` outside the mask can make gradients NaN." in str(after.findings)


def test_a_spread_mask_is_not_asked_of_a_copy(fixed: Any) -> None:
    source = FINITE.replace("torch.ones_like(y)", "x + y").format("out[m] = out[m] / y[m]")
    spread = "m[(...,) + (None,) * (out.ndim - m.ndim)]"
    assert (
        f"out.copy_(torch.where({spread}, out.clone() / torch.where({spread}, y, 1), out))" in fixed(source, True).text
    )


@pytest.mark.parametrize("mask", ["row >= t", "(row + t[i]) > t", "found"])
def test_a_mask_of_the_tensor_and_others_is_as_large_as_the_tensor(fixed: Any, runner: Any, mask: str) -> None:
    import torch

    source = f"""\
import torch


@torch.compile
def f(x: torch.Tensor, t: torch.Tensor):
    for i in range(3):
        row = x[i]
        found = row >= t[0]
        row[{mask}] += 1
    return x
"""
    after = fixed(source, unsafe=True).text
    assert f"        row.copy_(torch.where({mask}, row + 1, row))\n" in after
    x, t = torch.arange(12).reshape(3, 4), torch.tensor([3, 5, 1, 9])
    one, other = (runner.eager(text.replace("@torch.compile\n", ""), x.clone(), t) for text in (source, after))
    assert torch.equal(one, other)


@pytest.mark.parametrize("mask", ["other > 0", "t > 0"])
def test_a_mask_that_may_be_smaller_than_the_tensor_is_given_more_dimensions(fixed: Any, mask: str) -> None:
    lines = ("other = x[0]", "row = x + other", f"m = {mask}", "row[m] += 1", "return row")
    source = "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor, t: torch.Tensor):\n" + "".join(
        f"    {line}\n" for line in lines
    )
    expected = "row.copy_(torch.where(m[(...,) + (None,) * (row.ndim - m.ndim)], row + 1, row))"
    assert expected in fixed(source, unsafe=True).text


EMBED = """\
import torch
from torch import nn


class Prompt(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.special = nn.Embedding(1, 4)
        self.shift = nn.Parameter(torch.rand(4))
        self.project = nn.Linear(2, 4)

    def forward(self, points{annotated}, labels{annotated}):
        y = self.project(points)
        {statement}
        return y


def graphdoctor_target():
    return Prompt(), {sample}
"""


@pytest.mark.parametrize(
    ("statement", "mask"),
    [
        ("y[labels == -1] += self.special.weight", "(labels == -1)"),
        ("y[~(labels > 0)] -= self.shift", "(~(labels > 0))"),
        ("m = labels.bool()\n        y[m] += self.special.weight", "m"),
    ],
)
def test_what_a_module_holds_is_added_to_each_selected_row(fixed: Any, statement: str, mask: str) -> None:
    import torch

    source = EMBED.format(statement=statement, annotated="", sample="None")
    after = fixed(source, unsafe=True).text
    assert f"y.copy_(torch.where({mask}[(...,) + (None,) * (y.ndim - " in after
    points, labels = torch.rand(2, 3, 2), torch.tensor([[0, 1, -1], [1, -1, -1]])
    found = []
    for text in (source, after):
        names: dict[str, Any] = {}
        exec(text, names)
        net = names["Prompt"]()
        net(points, labels).square().sum().backward()
        found.append((net(points, labels), [parameter.grad for parameter in net.parameters()]))
    (one, its), (other, others) = found
    assert torch.equal(one, other)
    assert all(a is b is None or torch.allclose(a, b) for a, b in zip(its, others, strict=True))


def test_where_the_dimensions_are_known_the_mask_is_given_those_that_it_lacks(fixed: Any) -> None:
    sample = "(torch.rand(2, 3, 2), torch.tensor([[0, 1, -1], [1, -1, -1]]))"
    statement = "y = points * 2\n        y[labels == -1] += self.shift"
    after = fixed(EMBED.format(statement=statement, annotated="", sample=sample), unsafe=True).text
    assert "y.copy_(torch.where((labels == -1)[..., None], y + self.shift, y))" in after


@pytest.mark.parametrize(
    "statement",
    [
        # A product keeps `y` for the gradient of the weight.
        "y[labels == -1] *= self.special.weight",
        # As many rows as there are selected ones.
        "y[labels == -1] += labels",
        # Of two names one may be broadcast.
        "y[labels == points] += self.special.weight",
    ],
)
def test_what_does_not_fit_each_row_is_not_written_for_all(fixed: Any, statement: str) -> None:
    assert "torch.where" not in fixed(EMBED.format(statement=statement, annotated="", sample="None"), unsafe=True).text


def test_a_check_of_another_file_is_read_whatever_was_read_before(tmp_path: Path) -> None:
    """What it asks of its argument counts, though nothing but the call of it is in the scanned file."""
    (tmp_path / "helpers.py").write_text(
        "import torch\n\n\ndef check(cond, text):\n    if isinstance(cond, torch.Tensor):\n"
        "        torch._assert_async(cond)\n    elif not cond:\n        raise ValueError(text)\n"
    )
    net = tmp_path / "net.py"
    net.write_text(
        "from helpers import check\nimport torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        m = x > -9\n        check(x[m].numel() == x.numel(), 'other')\n        return x * 2\n"
    )
    (found,) = analyse([(net, "net.py")]).findings
    assert found.rule == "GD302" and found.fix is not None
    assert "torch.count_nonzero(m)" in str(found.fix.diff)


@pytest.mark.parametrize(
    ("between", "written"),
    [("", "group.copy_(torch.where(mask, first, group))"), ("group = group[:1]\n    ", "group.ndim - mask.ndim")],
)
def test_a_mask_of_a_tensor_and_a_size_is_as_large_as_the_tensor(tmp_path: Path, between: str, written: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor, count: int):\n    b, n, c = x.shape\n"
        "    group = torch.arange(n).view(1, n).repeat([b, 1])\n    group = group.sort(dim=-1)[0][:, :count]\n"
        "    first = group[:, :1].repeat([1, count])\n    mask = group == n\n"
        f"    {between}group[mask] = first[mask]\n    return group\n"
    )
    (finding,) = analyse([(file, "model.py")]).findings
    assert finding.fix is not None
    assert written in finding.fix.diff


#: A loss with the hardest pair of each anchor: rounds without a pair are passed over.
HARDEST = """\
import torch


def f(x: torch.Tensor, y: torch.Tensor):
    dist = torch.cdist(x, x)
    losses = []
    for i in range(len(x)):
        same = y == y[i]
        same[i] = False
        if same.sum() == 0:
            continue
        other = y != y[i]
        farthest = dist[i][same].max()
        nearest = dist[i][other].min()
        losses.append((farthest - nearest + 9).relu())
    return torch.stack(losses).mean()


def graphdoctor_target():
    return f, (torch.rand(4, 2), torch.tensor([0, 0, 1, 1]))
"""


def test_a_row_without_a_name_is_reduced(fixed: Any, runner: Any) -> None:
    import torch

    after = fixed(HARDEST, unsafe=True).text
    assert "torch.where(same, dist[i], -torch.inf).max()" in after
    x = torch.rand(4, 2)
    for labels in ([0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 0, 1]):
        y = torch.tensor(labels)
        expected = runner.eager(HARDEST, x, y)
        torch.testing.assert_close(runner.eager(after, x, y), expected)
        result = runner.compiled(after, x, y, fullgraph=True)
        torch.testing.assert_close(result.value, expected)


def largest(dtype: str, reduction: str) -> str:
    lines = (f"x = x.{dtype}()", "m = x > 2", f"return x[m].{reduction}() + y")
    return "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor, y: torch.Tensor):\n" + "".join(
        f"    {line}\n" for line in lines
    )


@pytest.mark.parametrize(
    "body",
    [
        "x[~m].mean()",
        "x.masked_select(~m).mean()",
        "x * x[~m[:, 0]].numel()",
        "x * all(~m[0])",
        "x * (1 + float(~m[0, 0]))",
    ],
)
def test_the_opposite_of_a_mask_is_not_that_of_its_sum(fixed: Any, runner: Any, body: str) -> None:
    """``~m.sum()`` is another number than ``(~m).sum()``."""
    import torch

    text = f"import torch\n\n\ndef f(x: torch.Tensor):\n    m = x > 0\n    return {body}\n\n\ncompiled = torch.compile(f)\n"
    after = fixed(text, unsafe=True).text
    assert after != text and "_dynamo.config" not in after
    for x in (torch.tensor([[-1.0, 2], [3, -4]]), torch.tensor([[-1.0, -2], [3, 4]]), -torch.ones(2, 2)):
        torch.testing.assert_close(runner.eager(after, x), runner.eager(text, x))


@pytest.mark.parametrize(
    ("statement", "copies"),
    [
        ("y[m] = torch.sign(y[m]) * torch.log(y[m].abs() + 1)", True),
        ("y[m] = y[m] * w[m]", True),
        ("y[m] **= 2", True),
        ("y[m] *= 3", False),
        ("y[m] = 1 - y[m]", False),
    ],
)
def test_what_gradients_need_is_not_written_over(fixed: Any, runner: Any, statement: str, copies: bool) -> None:
    import torch

    text = (
        "import torch\n\n\ndef f(x: torch.Tensor, w: torch.Tensor):\n    y = x.clone()\n    m = y.abs() > 1\n"
        f"    {statement}\n    return y\n\n\ncompiled = torch.compile(f)\n"
    )
    after = fixed(text, unsafe=True).text
    assert "y.copy_(torch.where(m, " in after and ("y.clone()" in after) == copies
    found = []
    for source in (text, after):
        x, w = (torch.tensor([[-2.0, 0.5], [3.0, 1.5]], requires_grad=True) for _ in range(2))
        runner.eager(source, x, w).sum().backward()
        found.append(x.grad)
    torch.testing.assert_close(*found)


ROWS = """\
import torch


def f(x: torch.Tensor, y: torch.Tensor):
    dist = torch.cdist(x, x)
    same = y[:, None] == y[None]
    losses = []
    for i in range(len(x)):
        losses.append((dist[i][same[i]].max() - dist[i][same[i] == 0].min() + 9).relu())
    return torch.stack(losses).mean()


def graphdoctor_target():
    return f, (torch.rand(4, 2), torch.tensor([0, 0, 1, 2]))
"""


def test_a_row_of_a_mask_needs_no_name(fixed: Any, runner: Any) -> None:
    import torch

    after = fixed(ROWS, unsafe=True).text
    assert "dist[i], -torch.inf).max()" in after and "dist[i], torch.inf).min()" in after
    x, y = torch.rand(4, 2), torch.tensor([0, 0, 1, 2])
    expected = runner.eager(ROWS, x, y)
    torch.testing.assert_close(runner.eager(after, x, y), expected)
    torch.testing.assert_close(runner.compiled(after, x, y, fullgraph=True).value, expected)


@pytest.mark.parametrize("reduction", ["max", "amin"])
def test_the_largest_of_whole_numbers_is_a_whole_number(fixed: Any, runner: Any, reduction: str) -> None:
    import torch

    source = largest("long", reduction)
    after = fixed(source, unsafe=True).text
    assert "torch.iinfo(x.dtype)" in after and "inf)" not in after
    x, y = torch.arange(6), torch.tensor(1)
    one, other = (runner.eager(text.replace("@torch.compile\n", ""), x, y) for text in (source, after))
    assert torch.equal(one, other) and one.dtype == other.dtype
    assert "inf" not in fixed(largest("bool", reduction), unsafe=True).text


@pytest.mark.parametrize("body", ["y[m] = x[m]", "y[m] = x[m] * 2 - 1  # doubled"])
def test_a_branch_that_only_writes_back_arithmetic_is_one_choice(fixed: Any, runner: Any, body: str) -> None:
    import torch

    source = f"""\
import torch


@torch.compile
def f(x: torch.Tensor):
    y = torch.zeros_like(x)
    m = y.sum(-1) < x[:, 0]
    if m.any():
        {body}
    return y
"""
    after = fixed(source, unsafe=True).text
    assert "    y.copy_(torch.where(m[" in after and "def picked" not in after
    assert ("# doubled" in after) == ("# doubled" in body)
    for x in (torch.arange(-3.0, 3).reshape(3, 2), -torch.ones(2, 2)):
        one, other = (runner.eager(text.replace("@torch.compile\n", ""), x) for text in (source, after))
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    "body",
    [
        "k = (a >= 0) & (a < 3)\nreturn torch.bincount(3 * a[k].int() + b[k], minlength=9).reshape(3, 3)",
        "n = torch.zeros(9).long()\nn += torch.bincount(b[a > 0], minlength=9)\nreturn n",
        "k = a == b\nreturn torch.bincount(a[k], minlength=300)",
    ],
)
def test_what_a_mask_selects_is_counted_with_the_mask(fixed: Any, runner: Any, body: str) -> None:
    import torch

    source = "import torch\n\n\n@torch.compile\ndef f(a: torch.Tensor, b: torch.Tensor):\n"
    source += "".join(f"    {line}\n" for line in body.splitlines())
    after = fixed(source, unsafe=True).text
    assert "bincount" not in after and "[k]" not in after and "capture" not in after
    for a in ([0, 1, 255, 2], [0, 0, 0, 0], [255, 255, 255, 255], [[1, 2], [255, 0]]):
        x = torch.tensor(a)
        y = (x + 1) % 3
        one, other = (runner.eager(text.replace("@torch.compile\n", ""), x, y) for text in (source, after))
        assert torch.equal(one, other) and one.dtype == other.dtype


@pytest.mark.parametrize("reduced", ["w.mean()", "w.max() - w.mean()", "w.sum() / w.mean()"])
def test_what_is_selected_and_reduced_later_is_reduced_where_it_is(fixed: Any, runner: Any, reduced: str) -> None:
    import torch

    head = "import torch\n\n\ndef f(x: torch.Tensor, t: torch.Tensor):\n    m = t > 0\n"
    tail = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4), torch.tensor([1.0, -1.0, 2.0, 0.0]))\n"
    source = f"{head}    w = x[m]\n    y = x * 2\n    return y + {reduced}\n{tail}"
    after = fixed(source, unsafe=True).text
    assert "w" not in after.removeprefix(head).partition("def ")[0].replace("where", "")
    given = torch.rand(4), torch.tensor([1.0, -1.0, 2.0, 0.0])
    found = runner.compiled(after, *given, fullgraph=True)
    assert found.graphs == 1
    torch.testing.assert_close(found.value, runner.eager(source, *given))
