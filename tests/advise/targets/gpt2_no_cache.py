"""The model of ``gpt2_cache.py`` with the cache off and 4 blocks, called with sentences of three lengths."""

from __future__ import annotations

import torch
from gpt2_cache import gpt2
from torch import nn


def graphdoctor_target() -> tuple[nn.Module, tuple[()], dict[str, torch.Tensor]]:
    """The model and a batch of 2 sentences."""
    return gpt2(False, 4), (), {"input_ids": torch.randint(0, 50, (2, 8))}


def graphdoctor_variants() -> list[tuple[torch.Tensor]]:
    """Sentences of other lengths."""
    return [(torch.randint(0, 50, (2, length)),) for length in (8, 6, 12)]
