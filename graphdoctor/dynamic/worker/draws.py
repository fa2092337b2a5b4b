"""Random numbers that depend on their own draw alone, whatever was drawn before it.

So code that draws the same in another order, such as weights in ``__init__`` in place of the first call, gives the same
numbers, and everything else that it does can be compared.
"""

from __future__ import annotations

from typing import Any

import torch

from graphdoctor.dynamic.tracing.private_torch import TorchDispatchMode
from graphdoctor.dynamic.user_code.fresh import seed_torch

_SEED = 0


def draw_each_alone() -> None:
    """From now on, until the process ends, each random number depends on its own draw alone."""
    _EachAlone().__enter__()  # type: ignore[no-untyped-call]


class _EachAlone(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is active, each operator of torch that draws starts from the same state of its generator.

    Afterwards the generator has advanced by one number, so its state still shows how often numbers were drawn.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call ``func``, from a fixed state where it draws."""
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags or kwargs.get("generator") is not None:
            return func(*args, **kwargs)
        state = torch.get_rng_state()
        seed_torch(_SEED)
        try:
            return func(*args, **kwargs)
        finally:
            torch.set_rng_state(state)
            torch.rand(())
