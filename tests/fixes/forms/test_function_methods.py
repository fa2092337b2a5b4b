"""A ``torch.autograd.Function`` as Dynamo traces it: no class methods, no tensor twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.fixes.forms.function_methods import give_once
from graphdoctor.lint import engine

SOURCE = """\
import torch


class Scale(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x, factor=2.0):
        ctx.factor = factor
        return x * factor

    @classmethod
    def backward(
        cls,
        ctx,
        grad,
    ):
        return grad * ctx.factor, None


def f(x):
    return Scale.apply(x).sum()


def graphdoctor_target():
    return f, (torch.ones(3, requires_grad=True),)
"""

STATIC = """\
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor=2.0):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(
        ctx,
        grad,
    ):
        return grad * ctx.factor, None
"""


def test_class_methods_that_do_not_read_the_class_become_static(fixed: Any, runner: Any) -> None:
    import torch

    made = fixed(SOURCE)
    assert STATIC in made.text
    assert made.safety("GD501") == "safe"
    x = torch.ones(3, requires_grad=True)
    assert runner.compiled(SOURCE, x).breaks > 0
    result = runner.compiled(made.text, x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)
    for value in (result.value, runner.eager(made.text, x), runner.eager(SOURCE, x)):
        x.grad = None
        value.backward()
        assert value.item() == 6 and x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (
            "return x * factor",
            "return cls.run(x, factor)",
            "`forward` reads the class: call its other methods by the name of the class instead.",
        ),
        (
            "return x * factor",
            "return super().forward(ctx, x)",
            "`forward` reads the class: call its other methods by the name of the class instead.",
        ),
        (
            "return x * factor",
            "return eval('cls').run(x, factor)",
            "`forward` reads the class: call its other methods by the name of the class instead.",
        ),
        (
            "def forward(cls, ctx, x, factor=2.0):",
            "def forward(*given):\n        _, ctx, x = given\n        factor = 2.0",
            "`forward` reads the class: call its other methods by the name of the class instead.",
        ),
        (
            "    @classmethod\n    def b",
            "    @once\n    @classmethod\n    def b",
            "`backward` has other decorators, which may need the class.",
        ),
        (
            "import torch\n",
            "import torch\n\nstaticmethod = print\n",
            "The name staticmethod may stand for something else in this file.",
        ),
    ],
)
def test_other_class_methods_stay(fixed: Any, before: str, after: str, reason: str) -> None:
    source = SOURCE.replace(before, after, 1)
    assert source != SOURCE
    made = fixed(source, unsafe=True)
    assert made.text == source
    assert any(f.fix is not None and f.fix.reason == reason for f in made.findings)


def test_the_refusal_for_a_rule_of_forward_mode_speaks_of_it(fixed: Any) -> None:
    source = SOURCE.replace("classmethod", "staticmethod").replace("(cls, ", "(").replace("        cls,\n", "")
    source = source.replace(
        "    @static", "    @staticmethod\n    def jvp(ctx, x, f):\n        return x\n\n    @static", 1
    )
    reasons = [f.fix.reason for f in fixed(source, unsafe=True).findings if f.rule == "GD501" and f.fix is not None]
    assert reasons == ["Whether forward-mode derivatives (`torch.func.jvp`) are taken of it, its file does not show."]


def test_methods_of_another_file_are_changed_there(tmp_path: Path) -> None:
    own, other = SOURCE.split("def f(x)")
    (tmp_path / "scale.py").write_text(own)
    (tmp_path / "net.py").write_text(f"import torch\nfrom scale import Scale\n\n\ndef f(x){other}")
    found = engine.analyse([(tmp_path / name, name) for name in ("net.py", "scale.py")]).findings
    reasons = [f.fix.reason for f in found if f.location.path == "net.py" and f.fix is not None]
    assert reasons == ["`forward` stands in another file: write `@staticmethod` there, without `cls`."]


def test_a_tensor_that_is_given_twice_is_copied(fixed: Any, runner: Any) -> None:
    import torch

    source = SOURCE.replace("classmethod", "staticmethod").replace("(cls, ", "(").replace("        cls,\n", "")
    source = source.replace("    return Scale.apply(x).sum()", "    y = x * 3\n    return Scale.apply(y, y).sum()")
    source = source.replace("return grad * ctx.factor, None", "return grad * ctx.factor, grad * 2")
    made = fixed(source, unsafe=True)
    assert "Scale.apply(y, y.clone())" in made.text
    assert made.safety("GD501") == "unsafe"
    x = torch.ones(3, requires_grad=True)
    result = runner.compiled(made.text, x, fullgraph=True)
    for value in (result.value, runner.eager(made.text, x), runner.eager(source, x)):
        x.grad = None
        value.backward()
        assert value.item() == 27 and x.grad.tolist() == [15, 15, 15]


def test_what_is_no_tensor_is_given_twice(make: Any) -> None:
    case = make("import torch\n\n\ndef f(x, n):\n    n = 2\n    return g(n, n)\n")
    assert case.refusal(lambda hit, editor: give_once(hit.place, editor)) == (
        "What is given twice is not known to be a tensor."
    )
