"""Progress bars: the loop runs over the same items."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = "import torch\nfrom tqdm import tqdm, trange\nfrom tqdm.contrib import tenumerate\n\nnames = iter('abc')\nfew = [3]\n\n\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4),)\n"


def program(loop: str) -> str:
    return f"{HEAD}def f(x, c=True):\n    {loop}\n        x = x + i\n    return x\n{TAIL}"


@pytest.mark.parametrize(
    "loop, items",
    [
        ("for i in tqdm(range(3)):", "range(3)"),
        ("for i in tqdm([1] if c else [2], desc='a'):", "([1] if c else [2])"),
        ("for i in tqdm(k for k in (1, 2)):", "(k for k in (1, 2))"),
        ("for i in trange(1, 3, leave=False):", "range(1, 3)"),
    ],
)
def test_the_bar_is_left_out(fixed: Any, runner: Any, loop: str, items: str) -> None:
    import torch

    result = fixed(program(loop))
    assert f"for i in {items} if torch.compiler.is_compiling() else t" in result.text
    x = torch.ones(4)
    expected = runner.eager(program(loop), x)
    assert torch.equal(runner.eager(result.text, x), expected)
    assert torch.equal(runner.compiled(result.text, x, fullgraph=True).value, expected)


def test_the_bar_inside_enumerate_and_zip_is_left_out(fixed: Any, runner: Any) -> None:
    import torch

    bars = program("for k, i in enumerate(tqdm([4, 5])):").replace(
        "    return x", "    return [x + a for a, _ in zip(tqdm([1]), [2])]"
    )
    result = fixed(bars)
    assert "enumerate(([4, 5]) if torch.compiler.is_compiling() else tqdm([4, 5]))" in result.text
    assert result.safety("GD102") == "safe"
    x = torch.ones(4)
    assert torch.equal(runner.compiled(result.text, x, fullgraph=True).value[0], runner.eager(bars, x)[0])


@pytest.mark.parametrize(
    "loop, safety",
    [
        ("for i in tqdm(range(3), desc=next(names)):", "unsafe"),
        ("for i in tqdm(range(3), file=open('/dev/null', 'a')):", "unsafe"),
        ("for i in trange(len(next(names))):", "unsafe"),
        ("for i in trange(*few):", "manual"),
        ("for i in sorted(tqdm([4, 5])):", "manual"),
        ("for k, i in tenumerate([4, 5]):", "manual"),
    ],
)
def test_not_safe(fixed: Any, loop: str, safety: str) -> None:
    result = fixed(program(loop))
    assert result.safety("GD102") == safety
    assert result.text == program(loop)
