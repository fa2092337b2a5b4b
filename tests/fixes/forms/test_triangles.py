"""What a diagonal or a triangle selects is taken by position: the same elements in the same order, in one graph."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
import torch

from graphdoctor.fixes.forms.triangles import select_by_position
from graphdoctor.static.domain.values import UNKNOWN

HEAD = "import torch\n\n\ndef f(x: torch.Tensor):\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(*map(int, '33')),)\n"
OFF = "x.flatten(0, 1)[1:].unflatten(0, (len(x) - 1, len(x) + 1))[:, :-1].clone().flatten(0, 1)"


def program(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines) + TAIL


@pytest.mark.parametrize(
    "mask, written",
    [
        (["m = torch.eye(len(x), dtype=torch.bool, device=x.device)", "m = ~m"], OFF),
        (["m = ~torch.eye(len(x), device=x.device).bool()"], OFF),
        (["m = torch.eye(len(x), dtype=torch.bool).to(x.device)", "m = ~m.to('cpu')"], OFF),
        (["m = torch.eye(len(x)) == 0"], OFF),
        (["m = (1 - torch.eye(len(x))).to(torch.bool)"], OFF),
        (["m = (torch.ones(len(x), len(x)) - torch.eye(len(x))).bool()"], OFF),
        (["m = torch.logical_not(torch.eye(len(x)))"], OFF),
        (["n = len(x)", "m = torch.ones((n, n), dtype=torch.bool)", "m = m.fill_diagonal_(0)"], OFF),
        (["n = len(x)", "m = torch.ones(n, n, dtype=torch.bool)", "m.fill_diagonal_(False)"], OFF),
        (["m = torch.eye(len(x), dtype=torch.bool)"], "x.diagonal().movedim(-1, 0).clone()"),
        (["m = torch.eye(len(x)).bool()", "n = torch.count_nonzero(m)"], "x.diagonal().movedim(-1, 0).clone()"),
        (
            ["m = torch.zeros(len(x), len(x)).fill_diagonal_(1).logical_not().logical_not()"],
            "x.diagonal().movedim(-1, 0).clone()",
        ),
        (
            ["m = torch.triu(torch.ones(len(x), len(x)), diagonal=1).bool()"],
            "x[torch.triu_indices(x.shape[0], x.shape[1], 1, device=x.device).unbind()]",
        ),
        (
            ["m = torch.ones(x.shape[:2]).new_ones(len(x), len(x))", "m = torch.ones(len(x), len(x)).tril(-1) != 0"],
            "x[torch.tril_indices(x.shape[0], x.shape[1], -1, device=x.device).unbind()]",
        ),
        (
            ["m = ~torch.ones(len(x), len(x), dtype=torch.bool).triu()"],
            "x[torch.tril_indices(x.shape[0], x.shape[1], -1, device=x.device).unbind()]",
        ),
        (
            ["m = ~torch.ones(len(x), len(x), dtype=torch.bool).tril()"],
            "x[torch.triu_indices(x.shape[0], x.shape[1], 1, device=x.device).unbind()]",
        ),
    ],
)
def test_the_positions_are_told(fixed: Any, runner: Any, mask: list[str], written: str) -> None:
    source = program(*mask, "return x[m]")
    after = fixed(source).text
    assert after == program(*mask, f"return {written}")
    for shape in ((4, 4), (1, 1), (3, 3, 2)):
        same_in_one_graph(runner, source, after, torch.rand(shape))
    # What a mask selects shares no memory with the tensor.
    x = torch.rand(2, 2)
    assert runner.eager(after, x).untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    "mask, selection, shape",
    [
        ("~torch.eye(3, dtype=torch.bool)", "x[..., m]", (2, 3, 3)),
        ("~torch.eye(3, dtype=torch.bool)", "x[:, m]", (2, 3, 3, 2)),
        ("torch.eye(3, dtype=torch.bool)", "x[..., m]", (2, 3, 3)),
        ("torch.eye(3, dtype=torch.bool)", "x[:, m]", (2, 3, 3, 2)),
        ("torch.ones(3, 4).triu(1).bool()", "x[..., m]", (2, 3, 4)),
        ("torch.ones(3, 4).tril().bool()", "x[:, :, m]", (2, 2, 3, 4)),
    ],
)
def test_of_the_dimensions_behind_others(fixed: Any, runner: Any, mask: str, selection: str, shape: Any) -> None:
    source = program(f"m = {mask}", f"return {selection}.sum(-1) * 2")
    after = fixed(source).text
    assert "[m]" not in after and after != source
    same_in_one_graph(runner, source, after, torch.rand(shape))


def test_of_a_matrix(fixed: Any, runner: Any) -> None:
    source = program(
        "s = torch.mm(x, x.t())",
        "m = torch.eye(s.shape[0], dtype=torch.bool)",
        "return s[~m].view(len(x), -1), s[m], s.masked_select(~m), torch.masked_select(s, m)",
    )
    after = fixed(source, unsafe=True).text
    off = "s.flatten()[1:].unflatten(0, (len(s) - 1, len(s) + 1))[:, :-1].clone().flatten()"
    diagonal = "s.diagonal().clone()"
    rows = off.removesuffix(".flatten()")
    assert f"    return {rows}.view(len(x), -1), {diagonal}, {off}, {diagonal}\n" in after
    same_in_one_graph(runner, source, after, torch.rand(4, 3))


def test_a_mask_like_a_matrix(fixed: Any, runner: Any) -> None:
    source = program("s = torch.mm(x, x.t())", "m = torch.ones_like(s).triu(1).bool()", "return s[m]")
    after = fixed(source).text
    assert "s[torch.triu_indices(s.shape[0], s.shape[1], 1, device=s.device).unbind()]" in after
    same_in_one_graph(runner, source, after, torch.rand(4, 3))


def same_in_one_graph(runner: Any, before: str, after: str, x: torch.Tensor) -> None:
    given = [x.clone().requires_grad_() for _ in range(2)]
    expected, found = runner.eager(before, given[0]), runner.compiled(after, given[1], fullgraph=True)
    assert found.graphs == 1
    torch.testing.assert_close(found.value, expected, rtol=0, atol=0)
    results = [value if isinstance(value, tuple) else (value,) for value in (expected, found.value)]
    losses = [sum(v.square().sum() for v in values) for values in results]
    grads = [torch.autograd.grad(loss, one)[0] for loss, one in zip(losses, given, strict=True)]
    torch.testing.assert_close(grads[1], grads[0])


@pytest.mark.parametrize(
    "lines",
    [
        ["m = torch.eye(len(x), dtype=torch.bool)", "m[0, 1] = True", "return x[m]"],
        ["m = torch.eye(len(x)) > x.mean()", "return x[m]"],
        ["m = torch.eye(len(x)).bool()", "other = m", "other[0, 1] = True", "return x[m]"],
        ["m = torch.eye(len(x)).bool()", "change(m)", "return x[m]"],
        ["m = torch.eye(len(x)).bool()", "other = m.to(x.device)", "other[0, 1] = True", "return x[m]"],
        ["m = torch.eye(len(x)).bool()", "other = m[0]", "other[1] = True", "return x[m]"],
        ["m = torch.eye(len(x)).bool()", "other = m.T", "other[0, 1] = True", "return x[m]"],
        ["m = torch.ones(2, 2).bool()", "m[0, 1] = False", "n = m.fill_diagonal_(False)", "return x[n]"],
        ["m = torch.ones(2, 2).bool()", "n = m.fill_diagonal_(False)", "m[0, 1] = False", "return x[n]"],
        ["m = torch.ones(2, 2).bool()", "n = m.fill_diagonal_(False)", "n[0, 1] = False", "return x[m]"],
        ["m = ~torch.eye(len(x)).byte()", "return x[m]"],
        ["m = ~torch.eye(len(x)).bool().to(x.int())", "return x[m > 0]"],
        ["m = torch.ones(len(x), len(x)).triu(len(x) // 2).bool()", "return x[m]"],
        ["m = torch.ones(len(x), len(x)).bool()", "m[0] = False", "m.fill_diagonal_(False)", "return x[m]"],
        ["m = torch.ones(len(x), len(x)).bool()", "for _ in range(2):", "    m.fill_diagonal_(False)", "return x[m]"],
        ["m = torch.ones(len(x), len(x)).triu(1, out=x).bool()", "return x[m]"],
        ["m = torch.rand(len(x), len(x)).triu(1).bool()", "return x[m]"],
        ["m = torch.eye(len(x)).bool()", "if len(x) > 3:", "    m = x > 0", "return x[m]"],
        ["m = torch.eye(len(x)).bool()", "return x[m, 0]"],
        ["m = torch.eye(len(x)).bool()", "return x[0, m]"],
        ["m = torch.eye(len(x)).bool()", "return x.masked_select(m)"],
        ["d = torch.cdist(x, x)", "m = torch.ones_like(d).triu(1).bool()", "return d[m]"],
        ["d = torch.stack([x, x, x])", "m = torch.ones_like(d, dtype=torch.bool).tril()", "return d[m]"],
        ["m = (torch.ones(2, 2) - torch.eye(1)).bool()", "return x[m]"],
        ["n = torch.eye(1)", "m = (torch.ones(2, 2) - n).bool()", "return x[m]"],
    ],
)
def test_other_masks_stay(fixed: Any, lines: list[str]) -> None:
    source = program(*lines)
    assert fixed(source).text == source


@pytest.mark.parametrize(
    "lines, why",
    [
        (["m = ~torch.eye(len(x)).bool()", "return (x * 2)[m]"], "`(x * 2)` would be computed twice; give it a name."),
        (["m = ~torch.eye(3, 4).bool()", "return x[m]"], "`m` is not shown to be a square."),
        (["m = ~torch.eye(len(x)).bool()", "return n[m]"], "`n` is not shown to be a tensor."),
        (["m = x > 0", "return x[m]"], "The mask is no diagonal or triangle."),
    ],
)
def test_refusal(refusal: Any, lines: list[str], why: str) -> None:
    assert refusal(select_by_position, "\n".join(lines), (cst.Subscript, "[m]"), UNKNOWN) == why


@pytest.mark.parametrize(
    "then, is_flat",
    [
        (".view(len(x), -1)", False),
        (".reshape(len(x) - 1, -1)", False),
        (".reshape((-1, 1))", False),
        (".view(torch.float32)", True),
        (".sum()", True),
    ],
)
def test_what_gets_other_sizes_need_not_be_one_row(fixed: Any, runner: Any, then: str, is_flat: bool) -> None:
    source = program("s = torch.mm(x, x.t())", "m = ~torch.eye(len(x), dtype=torch.bool)", f"return s[m]{then}")
    after = fixed(source).text
    assert f".clone(){'.flatten()' if is_flat else ''}{then}" in after
    # Another dtype has no gradients to compare.
    for shape in ((4, 3), (2, 3), (3, 3)) if "torch" not in then else ():
        same_in_one_graph(runner, source, after, torch.rand(shape))
