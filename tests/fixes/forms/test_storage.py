"""A tensor that is made empty and resized is made with its size."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = "import torch\n\n\ndef f(x):\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 8),)\n"


@pytest.mark.parametrize(
    "body, changed",
    [
        ("keep = x.data.new().resize_((x.size(0), 1)).fill_(2) / 4", "x.data.new_empty((x.size(0), 1)).fill_(2) / 4"),
        ("keep = x.new().resize_(x.size()).fill_(2)", "x.new_empty(x.size()).fill_(2)"),
        ("keep = (x + 1).new().resize_(4, 1).fill_(2)", "(x + 1).new_empty(4, 1).fill_(2)"),
        ("keep = x.new().resize_(*x.shape).zero_()", "x.new_empty(*x.shape).zero_()"),
        ("keep = x.new().resize_as_(x + 1).fill_(3)", "x.new_empty((x + 1).shape).fill_(3)"),
    ],
)
def test_a_tensor_is_made_with_its_size(fixed: Any, runner: Any, body: str, changed: str) -> None:
    import torch

    source = f"{HEAD}    {body}\n    return x * keep\n{TAIL}"
    after = fixed(source)
    assert changed in after.text and after.safety("GD509") == "safe"
    for x in (torch.arange(32.0).view(4, 8), torch.rand(4, 8).double(), torch.full((4, 8), float("nan"))):
        expected = runner.eager(source, x)
        found = runner.compiled(after.text, x, fullgraph=True)
        assert found.graphs == 1 and found.value.dtype is expected.dtype
        assert torch.equal(found.value.nan_to_num(7), expected.nan_to_num(7))


@pytest.mark.parametrize(
    "body, reason",
    [
        (
            "x.new(2, 3).resize_(4, 8)",
            "Only `new()` of a tensor, without arguments, makes one that has no numbers to keep.",
        ),
        (
            "x.new().resize_((4, 8), memory_format=torch.contiguous_format)",
            "Only `new()` of a tensor, without arguments, makes one that has no numbers to keep.",
        ),
        ("x.clone().resize_(4, 8)", "The resized tensor is not one that `new()` makes."),
    ],
)
def test_what_has_numbers_to_keep_is_left(make: Any, body: str, reason: str) -> None:
    from graphdoctor.fixes.forms.storage import of_final_size

    source = f"import torch\n\n\ndef f(x: torch.Tensor):\n    return {body} * 2\n"
    assert make(source, marker="resize_").refusal(of_final_size) == reason
