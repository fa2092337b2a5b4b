"""Attention over the parts of a packed sequence: one call for all, what stays, and that both give the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import libcst as cst
import pytest
import torch

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.apply import apply
from graphdoctor.fixes.rows.segments import attend_once
from graphdoctor.static.rule import FixPlan, Refusal
from graphdoctor.syntax.walk import walk

HEAD = """\
import torch
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as sdpa


def attend(q, k, v, attention_mask, scale=1.0, is_causal=False):
    scores = q @ k.transpose(-1, -2) * scale
    return (scores if attention_mask is None else scores + attention_mask).softmax(-1) @ v, scores


def f(q, k, v, n, g=None):
"""
MASK = (
    "    torch._assert_async(({n} >= 0).all() & ({n}.sum() == q.shape[{dim}]))\n"
    "    segment = torch.bucketize(torch.arange(q.shape[{dim}], device={n}.device), {n}.cumsum(0), right=True)\n"
)
SAME = "    segment = (segment[:, None] == segment).to(q.device)\n"
ADDED = '    segment = torch.where(segment[:, None] == segment, 0.0, float("-inf")).to(q)\n'

#: The lines of a function, and what they become.
FIXED = (
    ("parts = [torch.split(t, n.tolist(), dim=2) for t in (q, k, v)]\n"
     "out = [attend(a, b, c, attention_mask=None, scale=0.5)[0] for a, b, c in zip(*parts)]\n"
     "return torch.cat(out, dim=2)",
     MASK.format(n="n", dim=2) + ADDED +
     "    out = attend(q, k, v, attention_mask=segment[None, None], scale=0.5)[0]\n    return out\n"),
    ("sizes = (n * 1).tolist()\nout = []\nfor a, b, c in zip(q.split(sizes, 2), k.split(sizes, 2), v.split(sizes, 2)):\n"
     "    out.append(F.scaled_dot_product_attention(a, b, value=c, is_causal=False))\nreturn torch.cat(out, dim=2) * 2",
     "    sizes = n * 1\n" + MASK.format(n="sizes", dim=2) + SAME +
     "    out = F.scaled_dot_product_attention(q, k, value=c, is_causal=False, attn_mask=segment)\n".replace("=c", "=v") +
     "    return out * 2\n"),
    ("qs = torch.split(q, n.tolist(), -2)\nks = k.split(n.tolist(), -2)\n"
     "return torch.cat([sdpa(q, k, v, attn_mask=None) for q, k, v in zip(qs, ks, v.split(n.tolist(), -2))], -2)",
     MASK.format(n="n", dim=-2) + SAME + "    return sdpa(q, k, v, attn_mask=segment)\n"),
)  # fmt: skip

SPLIT = "p = n.tolist()\n"
ZIP = "zip(q.split(p, 2), k.split(p, 2), v.split(p, 2))"

#: The lines of a function, and why they stay.
REFUSED = (
    ("return q.split(n.tolist(), 2)", "These are no lengths of the parts of a sequence that are joined again."),
    (SPLIT + f"return torch.cat([sdpa(a, b, c) for a, b, c in {ZIP} if a.numel()], 2)",
     "These are no lengths of the parts of a sequence that are joined again."),
    (SPLIT + f"out = []\nfor a, b, c in {ZIP}:\n    out.append(sdpa(a, b, c))\n    g(a)\nreturn torch.cat(out, 2)",
     "These are no lengths of the parts of a sequence that are joined again."),
    (SPLIT + f"return torch.cat([sdpa(a, b, c) + a for a, b, c in {ZIP}], 2)",
     "`sdpa(a, b, c) + a` does more with the parts than attend."),
    (SPLIT + f"return torch.cat([sdpa(a, b, c, g) for a, b, c in {ZIP}], 2)", "`sdpa(a, b, c, g)` has a mask of its own."),
    (SPLIT + f"return torch.cat([sdpa(a, b, c, is_causal=True) for a, b, c in {ZIP}], 2)",
     "`sdpa(a, b, c, is_causal=True)` has a mask of its own."),
    (SPLIT + f"return torch.cat([g(a, b, c) for a, b, c in {ZIP}], 2)",
     "`g(a, b, c)` has no argument for a mask of attention."),
    (SPLIT + f"return torch.cat([sdpa(a, b, c) for a, b, c in {ZIP}], 0)", "Dimension 2 is not that of the sequence."),
    (SPLIT + f"out = [sdpa(a, b, c) for a, b, c in {ZIP}]\ng(out)\nreturn torch.cat(out, 2)", "`out` is used elsewhere."),
    (SPLIT + f"if g:\n    return torch.cat([sdpa(a, b, c) for a, b, c in {ZIP}], 2)\nreturn q",
     "The sequence is split and joined in different blocks."),
    (SPLIT + f"k = k * 2\nreturn torch.cat([sdpa(a, b, c) for a, b, c in {ZIP}], 2)",
     "`k` is bound again before the parts are joined."),
    (SPLIT + "return torch.cat([sdpa(a, b, c) for a, b, c in zip(q.split(p, 2), k.split(p, 2), v.split(g.tolist(), 2))], 2)",
     "The tensors are split by several lengths."),
    (SPLIT + f"return torch.cat([sdpa(\n        a,  # query\n        b, c) for a, b, c in {ZIP}], 2)",
     "A comment between the arguments would be lost."),
)  # fmt: skip


def plan(body: str, make: Any) -> tuple[str, FixPlan | Refusal]:
    source = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    case = make(source, cst.Call, ".tolist()")
    reads = [n for n in walk(case.hit.place) if isinstance(n, cst.Call) and called(n) == "tolist"]
    return source, first_fit(replace(case.hit, node=reads[0]), case.editor, attend_once)


@pytest.mark.parametrize("row", FIXED, ids=lambda row: row[0])
def test_fix(row: tuple[str, str], make: Any, runner: Any) -> None:
    """The text, and: values, gradients, lengths of zero, lengths that do not fit, another dtype, and one graph."""
    source, found = plan(row[0], make)
    assert isinstance(found, FixPlan), found
    fixed = apply(source, found.edits)
    assert fixed == HEAD + row[1]
    torch.manual_seed(0)
    for dtype, lengths in ((torch.float32, [3, 0, 4]), (torch.float64, [7]), (torch.float16, [1, 6])):
        q, k, v = (torch.randn(2, 2, 7, 4, dtype=dtype, requires_grad=True) for _ in range(3))
        n = torch.tensor(lengths, dtype=torch.int32)
        expected, actual = (runner.eager(text, q, k, v, n) for text in (source, fixed))
        torch.testing.assert_close(actual, expected)
        grads = [torch.autograd.grad(out.float().square().sum(), (q, k, v)) for out in (expected, actual)]
        torch.testing.assert_close(grads[1], grads[0])
    q, k, v = (torch.randn(1, 2, 7, 4) for _ in range(3))
    compiled = runner.compiled(fixed, q, k, v, torch.tensor([5, 2]), fullgraph=True)
    torch.testing.assert_close(compiled.value, runner.eager(source, q, k, v, torch.tensor([5, 2])))
    assert compiled.graphs == 1
    for lengths in ([3, 3], [9, -2]):
        for text in (source, fixed):
            with pytest.raises(RuntimeError):
                runner.eager(text, q, k, v, torch.tensor(lengths))


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[0])
def test_refusal(row: tuple[str, str], make: Any) -> None:
    _, found = plan(row[0], make)
    assert isinstance(found, Refusal)
    assert found.reason == row[1]
