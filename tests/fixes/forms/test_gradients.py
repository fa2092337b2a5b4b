"""What only autograd's bookkeeping needs stays in eager."""

from __future__ import annotations

from typing import Any

from graphdoctor.fixes.forms.gradients import grad_flag_in_eager

SOURCE = "import torch\n\n\ndef f(x):\n    y = x * 2\n    y.retain_grad()\n    return y.sum()\n"


def test_retain_grad_is_left_out_under_compile(make: Any, runner: Any) -> None:
    import torch

    after = make(SOURCE, marker="retain_grad").after(grad_flag_in_eager)
    assert "    if not torch.compiler.is_compiling():\n        y.retain_grad()\n" in after
    x = torch.ones(3, requires_grad=True)
    assert runner.compiled(SOURCE, x).breaks > 0
    for fullgraph in (False, True):
        result = runner.compiled(after, x, fullgraph=fullgraph)
        assert (result.breaks, result.graphs) == (0, 1)
        assert torch.equal(result.value, runner.eager(SOURCE, x))
