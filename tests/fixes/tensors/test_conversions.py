"""Numbers that stay tensors, and copies that become clones."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.forms.copies import clone_tensor
from graphdoctor.fixes.tensors.conversions import keep_tensor
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan, Refusal

HEAD = "import copy\nimport torch\n\n\ndef f(x, flag=True):\n"

RETURNED = "The caller gets a Python number; return the tensor and convert it outside the compiled code."
INDEX = "The number is an argument or an index, where a tensor may mean something else."


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize(
    "body, marker",
    [
        ("return x / x.abs().max().item()", ".item"),
        ("scale = x.mean().item()\nreturn x * scale + scale", ".item"),
        ("return x * -x.max().item()", ".item"),
        ("return x - float(x.mean())", "float"),
        ("x = x + 0\nx *= x.mean().item()\nreturn x", ".item"),
        ("if x.mean().item() > 0:\n    x = x * 2\nreturn x", ".item"),
        ("s = x.max().item()\nif s < 3:\n    s = 3.0\nreturn x / s", ".item"),
        ("s = x.max().item()\nif s == 0: s = 1e-8\ny = s * x\nreturn y + s", ".item"),
        ("s = x.max().item()\nif s > 1:\n    s = s * 0.5 + 1\nreturn x / s", ".item"),
        ("limit = 0.5 * len(x)\ns = x.max().item()\nreturn x / max(s, limit)", ".item"),
        ("limit = 0.5 * len(x)\ns = x.max().item()\nreturn x * min(limit, s)", ".item"),
        ('if x.sum().item() < 0:\n    raise ValueError("negative")\nreturn x + 1', ".item"),
        ("s = x.mean().item()\nreturn x / max(1.0, s)", ".item"),
        ("s = x.max().item()\nreturn x.clamp(-s, s) / s", ".item"),
        ("s = x.mean().item()\nreturn torch.clamp(x, min=s * 0.5, max=s)", ".item"),
        ("s = x.max()\ns = float(s)\nreturn x / s", "float"),
        ('s = x.max().item()\nassert s < len(x), f"{s} and {s:.1f} of {len(x)}"\nreturn x + 1', ".item"),
        ('s = x.max().item()\nassert 0 < s, (\n    "%s of "\n    "%s" % (s, s)\n)\nreturn x + s', ".item"),
        ("s = torch.clamp(torch.tensor([0.5]), min=1).item()\nreturn x.sum() / s", ".item"),
        ('s = x.max().item()\nok = s > 0\nassert ok, "negative"\nreturn x / s', ".item"),
    ],
)
def test_kept_tensor_gives_the_same_in_one_graph(make: Any, runner: Any, body: str, marker: str) -> None:
    import torch

    source = source_of(body)
    case = make(source, marker=marker)
    plan = case.run(keep_tensor)
    assert isinstance(plan, FixPlan)
    after = case.after(keep_tensor)
    x = torch.tensor([0.5, 2.0, 1.25])
    assert runner.compiled(source, x).breaks > 0
    for fullgraph in (False, True):
        result = runner.compiled(after, x, fullgraph=fullgraph)
        assert (result.breaks, result.graphs) == (0, 1)
        assert torch.equal(result.value, runner.eager(source, x))


@pytest.mark.parametrize("bounded", ["max(1.0, {})", "max({}, 1.0)", "min(1.0, {})", "min({}, 1.0)"])
@pytest.mark.parametrize("body", ["return x * 0 + {}", "s = x.max().item()\nreturn x * 0 + {}"])
def test_a_bound_beside_nan_is_what_python_gives(make: Any, runner: Any, body: str, bounded: str) -> None:
    import torch

    number = "s" if "s = " in body else "x.max().item()"
    source = source_of(body.format(bounded.format(number)))
    after = _item_case(make, source).after(keep_tensor)
    for value in (0.5, 2.0, torch.nan):
        x = torch.zeros(2).fill_(value)
        results = [runner.eager(code, torch.tensor([0.0, value])).isnan().tolist() for code in (source, after)]
        assert results[0] == results[1]
        if value == value:
            assert torch.equal(runner.eager(after, x), runner.eager(source, x))


@pytest.mark.parametrize(
    ("statement", "after"),
    [
        ('assert s > 0, "negative"', ['assert s > 0, "negative"']),
        ("ok = s < 3\nassert ok", ["ok = s < 3", "assert ok"]),
        (
            'assert s > 0, f"{s} of {s + len(x)}"',
            [
                "if torch.compiler.is_compiling():",
                '    assert s > 0, "`s` of `s + len(x)`"',
                "else:",
                '    assert s > 0, f"{s.item()} of {s.item() + len(x)}"',
            ],
        ),
    ],
)
def test_an_assert_shows_the_number_in_eager(make: Any, statement: str, after: list[str]) -> None:
    case = make(source_of(f"s = x.max().item()\n{statement}\nreturn x"), marker=".item")
    assert case.after(keep_tensor).splitlines()[5:-1] == [f"    {line}" for line in ("s = x.max().detach()", *after)]


def test_an_assert_of_something_else_keeps_the_number(make: Any) -> None:
    body = 's = x.max().item()\nassert len(x) > 1, f"{s}"\nreturn x'
    assert isinstance(make(source_of(body), marker=".item").run(keep_tensor), Refusal)


def test_dropping_the_call_is_unsafe(make: Any) -> None:
    plan = make(source_of("return x / x.max().item()"), marker=".item").run(keep_tensor)
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe" and "detached" in plan.reason


@pytest.mark.parametrize(
    "body, marker, reason",
    [
        ("return x.max().item()", ".item", RETURNED),
        ("return x.max().item() > 3", ".item", RETURNED),
        ("return x[x.argmax().item()]", ".item", INDEX),
        ("return range(x.max().item())", ".item", INDEX),
        ("s = x.max().item()\nreturn range(s)", ".item", INDEX),
        ("s = x.max().item()\ns += 1\nreturn x * s", ".item", "`s` is assigned more than once (lines 6, 7)."),
        ("s = x.max().item()\nif x.sum() < 3:\n    s = 3.0\nreturn x / s", ".item", "`s` is assigned more than once (lines 6, 8)."),
        ("s = x.max().item()\nreturn x / max(s, s + 1)", ".item", INDEX),
        ("s = x.max().item()\nreturn x.clamp(0, s)", ".item", INDEX),
        ("return [row * max(1.0, row.max().item()) for row in x]", ".item", INDEX),
        ("s = x.max().item()\nreturn x / max(s, x.min().item())", ".item", INDEX),
        ("flag.s = x.max().item()\nreturn x", ".item", "The value is stored where other code may read it."),
        ("return {1: x.max().item()}", ".item", "The number is used where a tensor may mean something else."),
        ("return x * int(x.max(), 2)", "int", "`int(x.max(), 2)` does more than read one number, so it cannot be dropped."),
    ],
)  # fmt: skip
def test_refusals(make: Any, body: str, marker: str, reason: str) -> None:
    source = source_of(body)
    case = make(source, marker=marker) if marker == "int" else _item_case(make, source)
    assert case.refusal(keep_tensor) == reason


def _item_case(make: Any, source: str) -> Any:
    """The hit at the ``.item()`` call itself, not at a call around it."""
    from dataclasses import replace

    from graphdoctor.syntax.walk import walk

    case = make(source, marker=".item")
    node = next(
        n for statement in case.editor.module.tree.body for n in walk(case.editor.module.of(statement))
        if isinstance(n, cst.Call) and isinstance(n.func, cst.Attribute) and n.func.attr.value == "item"
    )  # fmt: skip
    return replace(case, hit=replace(case.hit, event=replace(case.hit.event, node=node)))


def test_implicit_conversions_are_refused(make: Any) -> None:
    reason = make(source_of("return x[:flag]"), cst.Slice).refusal(keep_tensor)
    assert reason == "The conversion is implicit, so there is no call to drop."


def test_deepcopy_of_a_tensor_becomes_a_clone(make: Any, runner: Any) -> None:
    import torch

    source = source_of("y = copy.deepcopy(x)\nreturn y + 1")
    case = make(source, marker="deepcopy", value=Tensor())
    after = case.after(clone_tensor)
    x = torch.rand(3)
    assert runner.compiled(source, x).breaks > 0
    result = runner.compiled(after, x, fullgraph=True)
    assert result.breaks == 0 and torch.equal(result.value, runner.eager(source, x))


def test_deepcopy_of_something_else_is_refused(make: Any) -> None:
    source = source_of("return copy.deepcopy(flag)")
    reason = make(source, marker="deepcopy").refusal(clone_tensor)
    assert reason == "What is copied is not known to be a tensor; copy it outside the compiled code."
    source = source_of("return copy.deepcopy(x, {})")
    reason = make(source, marker="deepcopy", value=Tensor()).refusal(clone_tensor)
    assert reason == "The copy is not a plain call with one argument."


@pytest.mark.parametrize("read, is_kept", [("self.last = None", True), ("print(self.last)", False)])
def test_a_number_that_is_only_stored(make: Any, runner: Any, read: str, is_kept: bool) -> None:
    """A copy, which later changes of the tensor do not reach; not where the file reads what is stored."""
    import torch

    source = (
        "import torch\n\n\nclass Net(torch.nn.Module):\n"
        f"    def clear(self):\n        {read}\n\n"
        "    def forward(self, x):\n        m = x.item()\n        self.last = m\n        x.zero_()\n"
        "        return x * 2\n"
    )
    case = make(source, marker=".item")
    if not is_kept:
        assert case.refusal(keep_tensor) == "The value is stored where other code may read it."
        return
    after = case.after(keep_tensor)
    assert "        m = x.detach().clone()\n        self.last = m.clone()\n" in after
    net = runner.load(after).Net()
    net(torch.tensor(2.0))
    assert net.last == 2


KEPT = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.tensor(3.0))

    def read(self):
        return self.step.item()

    def forward(self, x):
        {body}


def value_of(t: torch.Tensor):
    return t.item()


def f(x: torch.Tensor):
    return Net()(x)


def graphdoctor_target():
    return Net(), (torch.rand(3),)
"""


@pytest.mark.parametrize(
    "body",
    [
        "old = self.step.item(); self.step += 1; return x * old",
        "old = float(self.step); self.step.mul_(0.5); return x + old",
        "old = self.read(); self.step += 1; return x * old",
        "old = value_of(self.step); self.step += 1; return x * old",
        "y = x.clone(); first = y[0].item(); y[0] = 7; return y * first",
        "y = x.clone(); first = y.tolist(); y += 1; return y * first[1]",
        "y = x.clone(); kept = []; kept.append(y[0].item()); y.zero_(); return torch.tensor(kept) + y",
    ],
)
def test_a_number_stays_as_it_was_when_its_tensor_changes(fixed: Any, runner: Any, body: str) -> None:
    import torch

    text = KEPT.format(body=body.replace("; ", "\n        "))
    after = fixed(text, unsafe=True).text
    assert after != text and ".clone()" in after.replace("x.clone()", "")
    x = torch.rand(3)
    torch.testing.assert_close(runner.eager(after, x), runner.eager(text, x))


def test_code_that_a_number_reaches_from_two_sides_is_changed_once(fixed: Any) -> None:
    body = "n = self.step.item()\n        return x * min(0.99, (1 + n) / (10 + n))"
    (finding,) = [f for f in fixed(KEPT.format(body=body)).findings if f.rule == "GD211" and f.location.line == 13]
    assert finding.fix is not None and "torch.where" in finding.fix.diff
    assert len(finding.fix.edits) == len(set(finding.fix.edits))
