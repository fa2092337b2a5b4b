"""Whole numbers in buffers become Python numbers where the break depends on them, and nowhere else."""

from __future__ import annotations

from typing import Any

HEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, stride=(2, 2)):
        super().__init__()
        self.stride = nn.Buffer(torch.tensor(stride[0]))
        self.ids = nn.Buffer(torch.arange(stride[0] * 8).expand(1, -1))
"""


def test_what_gets_other_numbers_stays_with_tensors(fixed: Any, runner: Any) -> None:
    import torch

    source = HEAD + (
        "\n    def frames(self, lengths):\n        n = torch.as_tensor(lengths, device=self.stride.device) / self.stride\n"
        "        return torch.ceil(n).to(torch.int64)\n"
        "\n    def extra(self, x):\n        n = torch.ceil(x.shape[-1] / self.stride).to(torch.int64)\n"
        "        return n * self.stride - x.shape[-1]\n"
        "\n    def forward(self, x):\n        return nn.functional.pad(x, (0, self.extra(x)))\n"
        "\n\nmodel = Net()\n\n\ndef f(x):\n    return model(x), model.frames(torch.tensor([3, 4]))\n"
    )
    after = fixed(source, unsafe=True).text
    assert "math.ceil(x.shape[-1] / self._stride_number)" in after
    assert "torch.as_tensor(lengths, device=self.stride.device) / self.stride\n" in after
    x = torch.rand(2, 5)
    torch.testing.assert_close(runner.eager(after, x), runner.eager(source, x))


def test_a_buffer_with_dimensions_is_no_number(fixed: Any, runner: Any) -> None:
    import torch

    source = HEAD + (
        "\n    def forward(self, x):\n        x = x + self.ids[:, : x.shape[1]]\n        if x.max() < 3:\n            return x\n"
        "        return x * 2\n\n\nmodel = Net()\n\n\ndef f(x):\n    return model(x)\n"
    )
    after = fixed(source, unsafe=True).text
    assert "torch.where(x.max() < 3" in after
    assert "_number" not in after
    x = torch.rand(2, 5)
    torch.testing.assert_close(runner.eager(after, x), runner.eager(source, x))


def test_a_number_that_is_computed_in_steps(fixed: Any, runner: Any) -> None:
    import torch

    source = HEAD + (
        "\n    def extra(self, x):\n        length = x.shape[-1]\n        n = (length - self.stride) / self.stride + 1\n"
        "        n = torch.ceil(n).to(torch.int64) - 1\n        return n * self.stride - length + 9\n"
        "\n    @staticmethod\n    def pad(x, sizes):\n        left, right = sizes\n        most = max(left, right)\n        more = 0\n"
        "        if x.shape[-1] <= most:\n            more = most - x.shape[-1] + 1\n            x = nn.functional.pad(x, (0, more))\n"
        "        return nn.functional.pad(x, (left, right))[..., : x.shape[-1] - more]\n"
        "\n    def forward(self, x):\n        return self.pad(x, (self.stride * 2, self.extra(x)))\n"
        "\n\nmodel = Net()\n\n\ndef f(x):\n    return model(x)\n"
    )
    after = fixed(source, unsafe=True).text
    assert "n = math.ceil(n) - 1" in after
    assert fixed(after, unsafe=True).text == after
    for x in (torch.rand(2, 5), torch.rand(2, 40)):
        torch.testing.assert_close(runner.eager(after, x), runner.eager(source, x))
    result = runner.compiled(after, torch.rand(2, 5), fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)
