"""A function that makes an array with numpy becomes an operator, and its calls give tensors."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = """\
from typing import Optional

import numpy as np
import torch


def spans(shape: tuple[int, int], p: float, mask: Optional[torch.Tensor] = None, least: int = 0):
    batch, length = shape
    drawn = np.random.rand(1).item()
    out = np.zeros((batch, length), dtype=bool)
    if p == 0:
        return out

    def count(n):
        return max(int(p * n + drawn), least)

    lengths = mask.sum(-1).tolist() if mask is not None else [length] * batch
    for row, n in enumerate(lengths):
        out[row, np.random.choice(int(n), min(count(n), int(n)), replace=False)] = True
    return out


"""
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 8),)\n"
FORMS = {
    "in two lines": "    m = spans((x.shape[0], x.shape[1]), p=0.3, mask=x > 0.1)\n    m = torch.tensor(m, device=x.device)\n"
                    "    return x.masked_fill(m, 0)\n",
    "in one": "    return x * torch.tensor(spans(x.shape, 0.5, least=1), dtype=x.dtype, device=x.device)\n",
    "alone": "    m = torch.from_numpy(spans((4, 8), 0.25))\n    return torch.where(m, x, -x)\n",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_one_graph_with_the_same_numbers(fixed: Any, runner: Any, form: str) -> None:
    import numpy as np
    import torch

    source = f"{HEAD}def f(x):\n{FORMS[form]}{TAIL}"
    x = torch.rand(4, 8)
    assert runner.compiled(source, x).breaks > 0
    after = fixed(source, unsafe=True).text
    assert fixed(after, unsafe=True).text == after
    original, rewritten = runner.load(source), runner.load(after)
    whole = torch.compile(rewritten.f, backend="eager", fullgraph=True)
    states = set()
    for seed in range(4):
        results = []
        for call in (original.f, rewritten.f, whole):
            np.random.seed(seed)
            results.append(call(x))
        torch.testing.assert_close(results[1], results[0])
        torch.testing.assert_close(results[2], results[0])
        states.add(round(results[0].sum().item(), 4))
    assert len(states) > 1


def test_another_dtype_and_shape(fixed: Any, runner: Any) -> None:
    import numpy as np
    import torch

    source = (
        "import numpy as np\nimport torch\n\n\ndef noise(n: int, k: int = 2, *, scale: float = 1.0):\n"
        "    out = np.ones((n, k, 3), dtype=np.float32)\n    out *= np.random.beta(2.0, 3.0, size=(n, k, 3)) * scale\n"
        f"    return out\n\n\ndef f(x):\n    return x.sum() * torch.as_tensor(noise(x.shape[0], scale=0.5))\n{TAIL}"
    )
    after = fixed(source, unsafe=True).text
    assert 'torch.empty((n, k, 3), dtype=torch.float32, device="cpu")' in after
    results = []
    for call in (runner.load(source).f, torch.compile(runner.load(after).f, backend="eager", fullgraph=True)):
        np.random.seed(3)
        results.append(call(torch.ones(4, 8)))
    torch.testing.assert_close(results[1], results[0])


def test_a_number_that_the_array_is_multiplied_with(fixed: Any, runner: Any) -> None:
    """The number alone as a tensor would raise beside an array, so the whole function becomes the operator."""
    import numpy as np
    import torch

    source = (
        "import numpy as np\nimport torch\n\n\ndef noise(n: int):\n    out = np.ones((n, 2))\n"
        "    out *= np.random.beta(2.0, 3.0)\n    return out\n\n\ndef f(x):\n"
        f"    return x.sum() * torch.as_tensor(noise(x.shape[0]))\n{TAIL}"
    )
    after = fixed(source, unsafe=True).text
    assert "out *= np.random.beta(2.0, 3.0)" in after
    results = []
    for call in (runner.load(source).f, torch.compile(runner.load(after).f, backend="eager", fullgraph=True)):
        np.random.seed(3)
        results.append(call(torch.ones(4, 8)))
    torch.testing.assert_close(results[1], results[0])


def test_a_tensor_that_needs_a_gradient_and_a_function_of_a_usual_name(fixed: Any, runner: Any) -> None:
    import numpy as np
    import torch

    source = (
        "import numpy as np\nimport torch\n\n\ndef _(text):\n    return text.upper()\n\n\n"
        "def scale(n: int, low: float = -0.5, mask: torch.Tensor = None):\n    out = np.full((n,), low, dtype=np.float32)\n"
        "    out *= np.random.beta(2.0, 3.0)\n    return out\n\n\n"
        "def f(x):\n    m = torch.tensor(scale(x.shape[1], mask=x)) + torch.tensor(scale(8, mask=None))\n"
        f"    return x * m * len(_('name'))\n{TAIL}"
    )
    after = fixed(source, unsafe=True).text
    assert "scale_operator.register_fake(lambda n, low=-0.5, mask=None: torch.empty((n,), " in after
    results = []
    for call in (runner.load(source).f, torch.compile(runner.load(after).f, backend="eager", fullgraph=True)):
        np.random.seed(3)
        x = torch.ones(4, 8, requires_grad=True)
        call(x).sum().backward()
        results.append(x.grad)
    torch.testing.assert_close(results[1], results[0])
