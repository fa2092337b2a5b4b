"""Settings that default configurations of transformers lack, and without which no model can be built."""

from __future__ import annotations

import re
from typing import Any

from graphdoctor.dynamic.named.shrink import Tokens, parts

_PLACEHOLDER = re.compile(r"^(image|audio|video|speech)_(token_)?(id|index)$")
#: Steps of a time series: of the input, and of the prediction.
_STEPS = {"context_length": 32, "prediction_length": 24}
#: Of a tokenizer that is not there, words enough for all special tokens.
_WORDS = 64
#: Placeholder tokens that have no number get one of these, counted down.
_FREE = 900


def complete(config: Any) -> Any:
    """Fill the gaps of ``config``, and of the configurations in it, in place; returns it."""
    tokens = Tokens(_FREE)
    text = getattr(config, "text_config", None) or config
    for part in parts(config):
        for name, value in list(vars(part).items()):
            if value is None and _PLACEHOLDER.search(name):
                setattr(part, name, tokens.low(len(name)))
        if getattr(part, "vocab_size", 0) is None:
            part.vocab_size = _WORDS
        _heads(part)
        _timm(part)
        for name, steps in _STEPS.items():
            if getattr(part, name, 0) is None:
                setattr(part, name, steps)
        if hasattr(part, "out_hidden_size") and isinstance(getattr(text, "hidden_size", None), int):
            part.out_hidden_size = text.hidden_size
    _image_tokens(config)
    return config


def _heads(config: Any) -> None:
    if getattr(config, "num_key_value_heads", 0) is None:
        config.num_key_value_heads = config.num_attention_heads
    width, heads = getattr(config, "hidden_size", None), getattr(config, "num_attention_heads", None)
    if getattr(config, "head_dim", 0) is None and isinstance(width, int) and isinstance(heads, int):
        config.head_dim = width // heads


def _timm(config: Any) -> None:
    """A backbone of the package timm becomes a ResNet of transformers, with as many feature maps."""
    backbone = getattr(config, "backbone_config", None)
    if getattr(backbone, "model_type", "") not in ("timm_backbone", "timm_wrapper"):
        return
    from transformers import ResNetConfig

    count = len(getattr(backbone, "out_indices", None) or [-1])
    stages = [f"stage{n}" for n in range(5 - min(count, 4), 5)]
    config.backbone_config = ResNetConfig(depths=[1, 1, 1, 1], out_features=stages)  # type: ignore[call-arg]


def _image_tokens(config: Any) -> None:
    """No more tokens for an image than it has patches."""
    vision, count = getattr(config, "vision_config", None), getattr(config, "mm_tokens_per_image", None)
    size, patch = getattr(vision, "image_size", None), getattr(vision, "patch_size", None)
    if isinstance(count, int) and isinstance(size, int) and isinstance(patch, int):
        config.mm_tokens_per_image = min(count, (size // patch) ** 2)
