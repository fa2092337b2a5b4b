"""Code that needs more memory than there is: the largest batch that fits."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import torch

from graphdoctor.dynamic.recompiles import sweep
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target
from graphdoctor.dynamic.user_code.user_errors import is_out_of_memory

#: What helps where the weights are too large.
SHRINK = "--shrink 1 runs it with fewer blocks, and weights that take no memory while it is built"


def advice(target: Target, mode: Mode, call: Callable[[Sample], object], shrunk: bool) -> str:
    """Half of the sample's batch, a quarter and so on are tried with ``call``: all of them take less than it took.

    ``shrunk``: the model has fewer blocks already.
    """
    tried = False
    for size, resized in sweep.batches(target, mode):
        fits = _largest(size // 2, resized, call)
        if fits:
            return f"a batch of {fits} fits, where the sample has {size}"
        tried = tried or fits == 0
    found = ["a batch of 1 does not fit either"] if tried else []
    return "; ".join(found if shrunk else [*found, SHRINK])


def _largest(size: int, resized: Callable[[int], Sample], call: Callable[[Sample], object]) -> int | None:
    """0 where no size fits, None where the code refuses another size."""
    while size:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        try:
            call(resized(size))
            return size
        except Exception as error:
            # Its frames hold what was made until then.
            traceback.clear_frames(error.__traceback__)
            if not is_out_of_memory(error):
                return None
        size //= 2
    return 0
