"""A small vision transformer."""

from __future__ import annotations

import torch
from torch import nn
from transformers import ViTConfig, ViTForImageClassification


def graphdoctor_target() -> tuple[nn.Module, tuple[()], dict[str, torch.Tensor]]:
    """The model and a batch of 2 images."""
    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=16, patch_size=8
    )
    return ViTForImageClassification(config), (), {"pixel_values": torch.rand(2, 3, 16, 16)}
