"""Models of the installed diffusers: their constructors' defaults made smaller, with random weights."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from graphdoctor.dynamic.named.not_built import NotBuilt, one_line

Inputs = dict[str, Any]

_CLASS = re.compile(r"^class (\w+)\(([^)]*)\):", re.MULTILINE)
_BATCH, _WORDS, _SIDE, _SEED = 2, 8, 16, 0
#: For models that halve an image more than four times.
_LARGE_SIDE = 64
_CHANNELS = ("in_channels", "in_dim", "audio_channels", "latent_channels")
_LAYERS = re.compile(r"^(num_.*layers|layers_per_block|transformer_layers_per_block|depth|num_res_blocks)$")
_HEADS = re.compile(r"^num_(attention_|key_value_)?heads$")
#: The parameters that give the width of what the model is conditioned on, in the order tried.
_TEXT_WIDTHS = (
    "cross_attention_dim", "joint_attention_dim", "text_dim", "text_embed_dim", "caption_channels", "cap_feat_dim",
    "encoder_hidden_size", "caption_projection_dim", "conditioning_dim", "hidden_size",
)  # fmt: skip


#: What an image is that comes as a sequence of its patches.
_PATCHES: Inputs = {"num_frames": 1, "height": _SIDE, "width": _SIDE, "img_shapes": [(1, _SIDE, _SIDE)] * _BATCH}


def names() -> Iterator[str]:
    """The public model classes, read from the sources: nothing is imported."""
    spec = importlib.util.find_spec("diffusers")
    if spec is None or spec.origin is None:
        return
    for file in sorted((Path(spec.origin).parent / "models").rglob("*.py")):
        for name, bases in _CLASS.findall(file.read_text(encoding="utf-8")):
            if "ModelMixin" in bases:
                yield name


def build(name: str) -> tuple[torch.nn.Module, tuple[()], Inputs]:
    """A model and the keyword arguments that it runs on in eager. Raises NotBuilt with the first reason."""
    import diffusers
    from diffusers import models

    cls = getattr(diffusers, name, None) or getattr(models, name, None)
    if cls is None:
        raise NotBuilt(f"diffusers does not export {name}")
    reasons: list[str] = []
    for smaller in (True, False):
        try:
            torch.manual_seed(_SEED)
            model = cls(**_arguments(cls, smaller)).eval()
        except Exception as error:  # what a constructor does not allow is known only by trying
            reasons.append(f"not built: {one_line(error)}")
            continue
        for inputs in _candidates(model):
            try:
                with torch.no_grad():
                    model(**inputs)
                return model, (), inputs
            except Exception as error:  # the same of inputs
                reasons.append(f"does not run: {one_line(error)}")
    raise NotBuilt(reasons[0] if reasons else "no input is known for it")


def _arguments(cls: Any, smaller: bool) -> dict[str, Any]:
    """The constructor arguments that differ from the defaults: one layer, two heads, and with ``smaller`` narrow."""
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        value = parameter.default
        if _LAYERS.search(name):
            arguments[name] = 1 if type(value) is int else value
            if isinstance(value, (list, tuple)):
                arguments[name] = type(value)(1 if type(v) is int else v for v in value)
        elif smaller and _HEADS.search(name) and type(value) is int:
            arguments[name] = min(value, 2)
        elif smaller and name.endswith("block_out_channels") and isinstance(value, (list, tuple)):
            arguments[name] = type(value)(min(v, 32 if position == 0 else 64) for position, v in enumerate(value))
    return {name: value for name, value in arguments.items() if value is not inspect.Parameter.empty}


def _candidates(model: Any) -> Iterator[Inputs]:
    """Keyword arguments to try: images, videos, sequences and sound in the number of channels that the model takes."""
    parameters = inspect.signature(model.forward).parameters
    config = model.config
    channels = next((n for name in _CHANNELS if isinstance(n := config.get(name), int) and n > 0), 3)
    side = config.get("sample_size")
    sides = [_SIDE, side] if isinstance(side, int) and side != _SIDE and side <= 128 else [_SIDE]
    main = next(iter(parameters))
    shapes: list[tuple[int, ...]] = [(channels, side, side) for side in sides]
    shapes += [(channels, frames, _SIDE, _SIDE) for frames in (1, 5, 9)]
    shapes.append((channels, _LARGE_SIDE, _LARGE_SIDE))
    shapes += [(5, channels, _SIDE, _SIDE), (_SIDE * _SIDE, channels), (channels, 2048), (1, 2048)]
    for shape in shapes:
        for width in _text_widths(config):
            inputs = {main: torch.randn(_BATCH, *shape)}
            for name, parameter in list(parameters.items())[1:]:
                value = _value(name, config, shape, width)
                if value is not None:
                    inputs[name] = value
                elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
                    break
            else:
                yield inputs


def _text_widths(config: Any) -> list[int]:
    widths = []
    for name in _TEXT_WIDTHS:
        value = config.get(name)
        value = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(value, int) and value > 0:
            widths.append(value)
    return list(dict.fromkeys(widths)) or [64]


def _value(name: str, config: Any, shape: tuple[int, ...], width: int) -> Any:
    """An argument by its name; None where it is better left out."""
    if name in ("timestep", "timesteps", "t", "r_timestep"):
        return torch.full((_BATCH,), 5)
    if name == "encoder_hidden_states":
        return torch.randn(_BATCH, _WORDS, width)
    if name in ("encoder_attention_mask", "encoder_hidden_states_mask", "text_embedding_mask"):
        return torch.ones(_BATCH, _WORDS, dtype=torch.long)
    if name in ("pooled_projections", "pooled_embeds"):
        return torch.randn(_BATCH, config.get("pooled_projection_dim") or config.get("text_embed_dim") or 64)
    if name == "guidance" and config.get("guidance_embeds"):
        return torch.ones(_BATCH)
    if name == "class_labels" and config.get("num_embeds_ada_norm"):
        return torch.zeros(_BATCH, dtype=torch.long)
    if name in ("txt_ids", "img_ids"):
        axes = config.get("axes_dims_rope") or (1, 1, 1)
        return torch.zeros(_WORDS if name == "txt_ids" else shape[0], len(axes))
    if name == "added_time_ids":
        return torch.zeros(_BATCH, 3)
    if len(shape) == 2 and name in _PATCHES:
        return _PATCHES[name]
    if name == "controlnet_cond":
        return torch.randn(_BATCH, 3, shape[-1] * 8, shape[-1] * 8)
    if name == "added_cond_kwargs":
        return {"resolution": torch.full((_BATCH, 2), 512.0), "aspect_ratio": torch.ones(_BATCH, 1)}
    return None
