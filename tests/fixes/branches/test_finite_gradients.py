"""Values of sides that are not taken: the rewritten code has the results and the gradients of the branch."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.finite_choice import choose_values
from graphdoctor.static.domain.values import Tensor

HEAD = "import torch\n\n\ndef f(x: torch.Tensor, n: float = 2.0):\n"

#: For the first input the branch is not taken, and its side has no finite gradient.
REWRITTEN = {
    "a division": "s = x.sum()\ny = x\nif s > 0:\n    y = x / s\nreturn y",
    "an early return": "s = x.sum()\nif s > 0:\n    return x / s\nreturn x * 2",
    "a root after the branch": "s = x.sum()\nif s <= 0:\n    return x * 2\nreturn x * s.sqrt()",
    "a function of torch": "s = x.sum()\nif s > 0:\n    y = torch.log(s) * x\nelse:\n    y = x\nreturn y",
    "a power": "s = x.sum()\ny = x\nif s > 0:\n    y = x * s ** 0.5\nreturn y",
    "a norm": "y = x\nif x.norm() > 0:\n    y = x / x.norm()\nreturn y",
    "a method with a divisor": "s = x.sum()\ny = x\nif s > 0:\n    y = x.div(s)\nreturn y",
    "names that are swapped": "a, b = x, x.sum()\nif x.sum() > 0:\n    a, b = b * x, a / b\nreturn a + b",
    "sides with a name of their own": (
        "t = x.sum()\nif t > 0:\n    s = torch.sqrt(t)\n    a, b = x / s, s\nelif t < -1:\n    s = torch.sqrt(-t - 1)\n    a, b = s, x / s\n"
        "else:\n    s = x\n    a, b = s, s\nreturn a * b"
    ),
    "an expression": "s = x.sum()\nreturn x / s if s > 0 else x * 2",
    "an expression in a call": "s = x.sum()\ny = torch.sin(x if s <= 0 else x * s.log()) + 1\nreturn y",
    "an expression whose test has dimensions": "s = x.sum().reshape(1)\nreturn x * (s.sqrt() if s > 0 else s)",
    "results of several sides": "s = x.sum()\nif s > 0:\n    print('a')\n    return x / s, s.rsqrt()\nreturn x, s",
}


def load(folder: Path, name: str, text: str) -> Any:
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def outcome(function: Any, x: Any) -> list[Any]:
    """The results, and the gradient of their sum."""
    import torch

    x = x.clone().requires_grad_()
    results = function(x)
    results = list(results) if isinstance(results, tuple) else [results]
    return [*(r.detach() for r in results), *torch.autograd.grad(sum(r.sum() for r in results), x)]


@pytest.mark.parametrize("name", REWRITTEN)
def test_gradients_are_those_of_the_branch(make: Any, tmp_path: Path, name: str) -> None:
    import torch

    source = HEAD + "".join(f"    {line}\n" for line in REWRITTEN[name].split("\n"))
    before = load(tmp_path, "before", source)
    kind = cst.IfExp if name.startswith("an expression") else cst.If
    after = load(tmp_path, "after", make(source, kind, value=Tensor("bool", 0)).after(choose_values))
    for x in (torch.tensor([1.0, -1.0]), torch.zeros(2), torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0])):
        expected, found = outcome(before, x), outcome(after, x)
        torch.testing.assert_close(found, expected)
        assert all(torch.isfinite(t).all() for t in found)


@pytest.mark.parametrize(
    "body", ["y = x / (s + 1e-6)", "y = x / s.clamp(min=1)", "y = x / n", "y = x / 2", "y = x ** 2"]
)
def test_what_cannot_be_zero_stays_as_it_is(make: Any, body: str) -> None:
    source = HEAD + f"    s = x.sum()\n    y = x\n    if s > 0:\n        {body}\n    return y\n"
    after = make(source, cst.If, value=Tensor("bool", 0)).after(choose_values)
    assert body.removeprefix("y = ") in after
    assert after.count("torch.where") == 1


@pytest.mark.parametrize(
    "body",
    [
        "return [x / s if s > 0 else x for _ in x]",
        "return lambda: x / s if s > 0 else x",
        "return x / n if s > 0 else x",
        "return s.add_(1) + (x / s if s > 0 else x)",
    ],
)
def test_an_expression_stays_where_its_condition_can_have_no_line(make: Any, body: str) -> None:
    source = HEAD + f"    s = x.sum()\n    {body}\n"
    after = make(source, cst.IfExp, value=Tensor("bool", 0)).after(choose_values)
    assert "condition" not in after and after.count("torch.where") == 1
