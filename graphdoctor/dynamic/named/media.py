"""Images, sound and time series for a transformers model, in the sizes that its configuration names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from graphdoctor.dynamic.named.shrink import parts

BATCH = 2
LENGTH = 32

Inputs = dict[str, Any]


def attribute(config: Any, *names: str) -> Any:
    """The first of ``names`` that ``config`` or a configuration in it has a value for; None without one."""
    for name in names:
        for part in parts(config):
            value = getattr(part, name, None)
            if value is not None:
                return value
    return None


def media_of(model: Any, names: list[str]) -> Iterator[Inputs]:
    """Images, sound and series to try for the parameters called ``names``."""
    if "grid_thw" in names:
        yield from _patches(model, "grid_thw", names[0])
    if "image_grid_thw" in names:
        yield from _patches(model, "image_grid_thw", "pixel_values")
        return
    if "spatial_shapes" in names:
        yield from _flat_patches(model)
    for name in ("pixel_values", "pixel_values_videos", "images"):
        if name in names:
            yield from _images(model, names, name)
    if "flattened_patches" in names:
        width = 2 + 3 * (attribute(model.config, "patch_size") or 16) ** 2
        yield {
            "flattened_patches": torch.randn(
                BATCH, 64, int(attribute(model.config, "patch_embed_hidden_size") or width)
            )
        }
    for name in ("input_values", "input_features", "audio_values", "spectrogram"):
        if name in names:
            yield from _audio(model, names, name)
    if "past_values" in names:
        yield from _series(model, names)
    for name in {"hidden_states", "inputs"}.intersection(names[:1]) if "grid_thw" not in names else ():
        width = attribute(model.config, "d_model", "hidden_size")
        if isinstance(width, int):
            yield {name: torch.randn(BATCH, LENGTH, width)}


def _side(config: Any, name: str, otherwise: int) -> tuple[int, int]:
    size = attribute(config, name)
    if isinstance(size, (list, tuple)) and len(size) >= 2:
        return int(size[-2]), int(size[-1])
    if isinstance(size, dict) and "height" in size:
        return int(size["height"]), int(size["width"])
    return (size, size) if isinstance(size, int) else (otherwise, otherwise)


def _images(model: Any, names: list[str], name: str) -> Iterator[Inputs]:
    vision = getattr(model.config, "vision_config", None) or model.config
    height, width = _side(vision, "image_size", 224)
    channels = attribute(vision, "num_channels", "in_channels", "in_chans")
    channels = channels if isinstance(channels, int) else 3
    frames = attribute(vision, "num_frames", "frames_per_clip") or 4
    extra: Inputs = {}
    if "image_sizes" in names:
        extra["image_sizes"] = torch.tensor([[height, width]] * BATCH)
    if "pixel_mask" in names and "input_ids" in names:
        extra["pixel_mask"] = torch.ones(BATCH, height, width, dtype=torch.long)
    for before in ((), (frames,), (1,), (2,)):
        yield {name: torch.randn(BATCH, *before, channels, height, width), **extra}
    if extra:
        yield {name: torch.randn(BATCH, channels, height, width)}


def _patches(model: Any, grid: str, name: str) -> Iterator[Inputs]:
    """Images as one sequence of patches, with the number of patches in time, height and width."""
    vision = getattr(model.config, "vision_config", None) or model.config
    patch, _ = _side(vision, "patch_size", 14)
    channels = attribute(vision, "in_channels", "in_chans", "num_channels") or 3
    for frames in dict.fromkeys((attribute(vision, "temporal_patch_size") or 1, 1)):
        sizes = torch.tensor([[1, 4, 4]] * BATCH)
        yield {name: torch.randn(16 * BATCH, channels * frames * patch * patch), grid: sizes}


def _flat_patches(model: Any) -> Iterator[Inputs]:
    vision = getattr(model.config, "vision_config", None) or model.config
    count = attribute(vision, "num_patches") or 256
    patch, _ = _side(vision, "patch_size", 16)
    side = int(count**0.5)
    yield {
        "pixel_values": torch.randn(BATCH, count, 3 * patch * patch),
        "pixel_attention_mask": torch.ones(BATCH, count, dtype=torch.long),
        "spatial_shapes": torch.tensor([[side, side]] * BATCH),
    }


def _audio(model: Any, names: list[str], name: str) -> Iterator[Inputs]:
    bins = attribute(model.config, "num_mel_bins", "feature_size", "feat_dim", "input_feat_per_channel")
    bins = bins if isinstance(bins, int) else 80
    wide = attribute(model.config, "feature_projection_input_dim") or bins
    positions = attribute(model.config, "max_source_positions")
    waves: list[tuple[int, ...]] = [(16000,), (1, 16000), (1, 24000)]
    frames: list[tuple[int, ...]] = [
        (100, wide),
        (100, bins),
        (bins, 2 * positions if isinstance(positions, int) else 3000),
        (bins, 100),
    ]
    length = attribute(model.config, "max_length")
    shapes = [(length, bins)] if isinstance(length, int) and length > 100 else []
    for shape in (*shapes, *(waves + frames if name == "input_values" else frames + waves)):
        inputs: Inputs = {name: torch.randn(BATCH, *shape)}
        if name == "input_features":
            for mask in ("input_features_mask", "feature_attention_mask"):
                if mask in names:
                    steps = shape[0] if shape[-1] in (wide, bins) else shape[-1]
                    yield {**inputs, mask: torch.ones(BATCH, steps, dtype=torch.long)}
        yield inputs


def _series(model: Any, names: list[str]) -> Iterator[Inputs]:
    config = model.config
    context = attribute(config, "context_length") or 64
    lags = attribute(config, "lags_sequence")
    past = context + (max(lags) if isinstance(lags, (list, tuple)) and lags else 0)
    channels = attribute(config, "num_input_channels") or attribute(config, "input_size") or 1
    features = (attribute(config, "num_time_features") or 0) + (attribute(config, "num_dynamic_real_features") or 0)
    future = attribute(config, "prediction_length") or 8
    shape = (BATCH, past) if channels == 1 else (BATCH, past, channels)
    inputs: Inputs = {"past_values": torch.randn(shape)}
    if "past_observed_mask" in names:
        inputs["past_observed_mask"] = torch.ones(shape)
    if "past_time_features" in names:
        inputs["past_time_features"] = torch.randn(BATCH, past, features)
        inputs["future_time_features"] = torch.randn(BATCH, future, features)
        yield {**inputs, "future_values": torch.randn(BATCH, future, *shape[2:])}
    yield inputs
    yield {"past_values": torch.randn(BATCH, past, channels)}
    yield {"past_values": torch.randn(BATCH, past)}
