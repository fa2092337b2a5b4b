"""``Variable`` around what requires no gradient goes; around other tensors it becomes ``detach``."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = "import numpy as np\nimport torch\nfrom torch.autograd import Variable\n\n\ndef f(x, w, n=2):\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 8), torch.rand(4, 8))\n"


@pytest.mark.parametrize(
    "value, written",
    [
        ("Variable(torch.zeros(4, 8))", "torch.zeros(4, 8)"),
        ("Variable(torch.ones(8).float().unsqueeze(0), requires_grad=False)", "torch.ones(8).float().unsqueeze(0)"),
        ("Variable(torch.from_numpy(np.eye(8)[:4]))", "torch.from_numpy(np.eye(8)[:4])"),
        ("Variable(torch.FloatTensor(x.size(0), 8).zero_())", "torch.FloatTensor(x.size(0), 8).zero_()"),
        ("Variable(x.data.new(4, 8).zero_())", "x.data.new(4, 8).zero_()"),
        ("Variable(w.data)", "w.data"),
        ("Variable(w.new_tensor([[2.0]]))", "w.new_tensor([[2.0]])"),
        ("Variable(\n        torch.ones(4, 8)\n        .float()\n    )", "(torch.ones(4, 8)\n    .float())"),
    ],
)
def test_what_requires_no_gradient_stays_as_it_is(fixed: Any, runner: Any, value: str, written: str) -> None:
    import torch

    source = f"{HEAD}    y = {value}\n    return x * y\n{TAIL}"
    after = fixed(source)
    assert after.text == f"{HEAD}    y = {written}\n    return x * y\n{TAIL}" and after.safety("GD405") == "safe"
    given = [(torch.rand(4, 8, generator=torch.Generator().manual_seed(0)), torch.ones(4, 8)) for _ in range(2)]
    results = []
    for text, tensors, run in zip((source, after.text), given, (runner.eager, runner.compiled), strict=True):
        for tensor in tensors:
            tensor.requires_grad_()
        found = run(text, *tensors)
        found = found if isinstance(found, torch.Tensor) else found.value
        results.append((found, torch.autograd.grad(found.sum(), tensors, allow_unused=True)))
    torch.testing.assert_close(results[1][0], results[0][0])
    torch.testing.assert_close(results[1][1][0], results[0][1][0])
    assert results[1][1][1] is results[0][1][1] is None


@pytest.mark.parametrize(
    "value, written",
    [
        ("Variable(w)", "w.detach()"),
        ("Variable(torch.Tensor(w))", "torch.Tensor(w).detach()"),
        ("Variable(torch.zeros(8) + w)", "(torch.zeros(8) + w).detach()"),
        ("Variable(torch.ones(4, 8).mul(w))", "torch.ones(4, 8).mul(w).detach()"),
        ("Variable(torch.zeros(4, 8, requires_grad=True))", "torch.zeros(4, 8, requires_grad=True).detach()"),
        ("Variable(torch.ones(4, 8, out=w))", "torch.ones(4, 8, out=w).detach()"),
        ("Variable(torch.FloatTensor(g(n)))", "torch.FloatTensor(g(n)).detach()"),
    ],
)
def test_what_may_require_gradients_is_detached(fixed: Any, value: str, written: str) -> None:
    source = f"{HEAD}    y = {value}\n    return x * y\n{TAIL}"
    assert f"    y = {written}\n" in fixed(source, unsafe=True).text
