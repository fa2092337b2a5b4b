"""The dtype of a result, which says whether an index is a mask: the static pass and torch agree."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Subscript

torch = pytest.importorskip("torch")

X = torch.rand(4, 8)
MASK = X[:, 0] > 0.5
KINDS = {torch.bool: "bool", torch.int64: "int", torch.float32: "float"}

#: Made of ``x``, a float tensor of 4 x 8, ``mask``, a bool tensor of 4 elements, and ``order``, their indices.
MADE = """
    torch.full((4,), True)
    torch.full((4,), 2)
    torch.full((4,), fill_value=0.5)
    torch.full_like(x, True)
    torch.ones(4, dtype=bool)
    torch.ones(4, dtype=int)
    torch.arange(order.max() + 1)
    torch.arange(3) + 2 * order.max().item()
    torch.cat([mask[:2], mask[2:]])
    torch.concat([order, order])
    torch.stack([mask, mask])
    mask.chunk(2)[0]
    torch.split(mask, 2)[0]
    mask.unbind(0)[0]
    mask.cumsum(0)
    torch.cumsum(mask, 0)
    x.cumsum(0)
    mask * mask
    mask + mask
    mask * 2
    mask * x[:, 0]
    x[:, 0].to(mask)
    x[:, 0].to(order)
    x[:, 0].type_as(mask)
    x.to(torch.bool)
    mask.to("cpu")
    mask.new_full((4,), True)
    mask.clone().fill_(True)
    mask.clone().scatter_(0, order, True)
    mask.index_put((order,), mask)
    torch.atleast_1d(mask)
    x.sort().values
    x.topk(2).indices
"""


@pytest.mark.parametrize("made", [line.strip() for line in MADE.strip().splitlines()])
def test_dtype(events, made):
    expected = eval(made, {"torch": torch, "x": X, "mask": MASK, "order": torch.arange(4)}).dtype
    source = f"""
        import torch

        @torch.compile
        def f(x: torch.Tensor):
            x = x.float()
            mask = x[:, 0] > 0.5
            order = torch.arange(4)
            made = {made}
            return made[0]
    """
    receiver = [e.receiver for e in events(source) if isinstance(e, Subscript)][-1]
    assert receiver.dtype == KINDS[expected]
