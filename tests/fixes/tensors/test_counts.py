"""How much a mask selects is counted from the mask, as it was where it selected."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = "import torch\n\n\ndef f(x):\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 8),)\n"


@pytest.mark.parametrize(
    "lines, written",
    [
        (
            [
                "loss = x * 2",
                "loss = loss.relu()",
                "valid = loss[loss > 0.5]",
                "n = valid.size(0)",
                "return loss.sum() / (n + 1e-16)",
            ],
            ["n = torch.count_nonzero(loss > 0.5)", "return loss.sum() / (n + 1e-16)"],
        ),
        (
            ["m = x > 0", "k = x[m]", "y = x * 2", "m[0] = True", "return y * len(k)"],
            ["count = torch.count_nonzero(m)", "y = x * 2", "m[0] = True", "return y * count"],
        ),
        (
            ["k = x[x > 0.5]", "x = x * 2", "n = k.numel()", "return x / max(n, 1)"],
            ["count = torch.count_nonzero(x > 0.5)", "x = x * 2", "n = count", "return x / n.clamp(min=1)"],
        ),
    ],
)
def test_the_count_is_of_the_mask_where_it_selects(
    fixed: Any, runner: Any, lines: list[str], written: list[str]
) -> None:
    import torch

    source = HEAD + "".join(f"    {line}\n" for line in lines) + TAIL
    after = fixed(source, unsafe=True)
    assert "".join(f"    {line}\n" for line in written) in after.text
    for x in (
        torch.arange(32.0).view(4, 8) - 9,
        torch.zeros(4, 8),
        torch.zeros(0, 8),
        torch.full((1, 8), float("nan")),
    ):
        if x.numel() or "m[0]" not in source:
            expected = runner.eager(source, x.clone())
            found = runner.compiled(after.text, x.clone(), fullgraph=True)
            assert found.graphs == 1 and torch.equal(found.value.nan_to_num(7), expected.nan_to_num(7))
