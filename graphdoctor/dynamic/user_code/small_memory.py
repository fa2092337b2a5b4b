"""Models that are larger than the memory: built without weights, with fewer blocks, and weights made for the rest."""

from __future__ import annotations

from collections.abc import Callable

import torch

from graphdoctor.dynamic.user_code import fewer_blocks, meta_weights
from graphdoctor.dynamic.user_code.fresh import Sample, seed


class SmallMemory:
    """``build`` with at most ``blocks`` blocks of one kind in a list, and with weights where it gives none.

    Without ``blocks``, only models that the user's code builds on the meta device are changed.
    """

    def __init__(self, build: Callable[[], Sample], blocks: int | None, device: torch.device) -> None:
        self._build = build
        self._blocks = blocks
        self._device = device
        #: What was changed in the sample that was built last, a sentence each.
        self.altered: tuple[str, ...] = ()

    def build(self) -> Sample:
        """A sample with numbers in it. Raises what the user's code raises."""
        sample = self._build() if self._blocks is None else self._without_weights()
        model, altered = sample.module, []
        if self._blocks is not None:
            left = fewer_blocks.shrunk(model, self._blocks) if model is not None else []
            altered += [f"--shrink {self._blocks}: {clause} were left out" for clause in left]
            if not left:
                altered.append(f"--shrink {self._blocks}: nothing was left out, no list has more blocks of one kind")
        if model is not None and meta_weights.fill(model, self._device):
            altered.append("the model was built without weights: those of the run are random numbers")
        self.altered = tuple(altered)
        return sample

    def _without_weights(self) -> Sample:
        """Parameters have no memory, unless the code asks for their numbers while it builds."""
        try:
            with meta_weights.no_memory():
                return self._build()
        except Exception:
            seed()
            return self._build()
