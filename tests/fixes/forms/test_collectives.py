"""Collectives in the graph; what they give on two ranks is in ``tests/integrations``."""

from __future__ import annotations

from typing import Any

PROGRAM = """\
import torch
import torch.distributed as dist


def f(x):
    y = x * 2
    {}
    return y + 1


def graphdoctor_target():
    return f, (torch.rand(3),)
"""


def test_an_asynchronous_collective_is_waited_for_at_once(fixed: Any) -> None:
    work = "work = dist.all_reduce(y, dist.ReduceOp.MAX, async_op=True, group=None)\n    z = x + 1\n    work.wait()"
    after = fixed(PROGRAM.format(work), unsafe=True).text
    assert after == PROGRAM.format("dist.all_reduce(y, dist.ReduceOp.MAX, group=None)\n    z = x + 1")
    assert fixed(after).findings == ()
    alone = PROGRAM.format("dist.all_reduce(y, async_op=True)")
    assert fixed(alone, unsafe=True).text == PROGRAM.format("dist.all_reduce(y)")


def test_a_broadcast_is_written_into_the_tensor(fixed: Any) -> None:
    after = fixed(PROGRAM.format("dist.broadcast(y, src=1, group=group)"), unsafe=True).text
    module = "torch.distributed._functional_collectives"
    assert f"import torch.distributed as dist\nimport {module}\n" in after
    assert f"    y.detach().copy_({module}.broadcast(y.detach(), 1, group))\n" in after
