"""GPT-2 with its key-value cache on, as by default, and 9 small blocks: one more than Dynamo compiles."""

from __future__ import annotations

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel


def gpt2(use_cache: bool, blocks: int) -> GPT2LMHeadModel:
    """The model."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=50, n_positions=16, n_embd=16, n_layer=blocks, n_head=2, bos_token_id=0, eos_token_id=1
    )
    config.use_cache = use_cache
    return GPT2LMHeadModel(config)


def graphdoctor_target() -> tuple[nn.Module, tuple[()], dict[str, torch.Tensor]]:
    """The model and a batch of 2 sentences."""
    return gpt2(True, 9), (), {"input_ids": torch.randint(0, 50, (2, 8))}
