"""Small versions of transformers configurations: fewer layers, experts and words, and narrower where that works.

Attributes are recognised by the patterns of their names, never by the model they belong to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: Attributes with the number of layers. Convolutional front ends have lists of the same length: not these.
_LAYERS = re.compile(r"^(?!.*(feat_extract|feature_layer|adapter|conv))(.*_)?(n_|num_)?(layers?|blocks|depth)$")
_WIDTH = re.compile(
    r"^(emb_)?dim$|(hidden_size|hidden_dim|d_model|ffn_dim|d_ff|intermediate_size|n_embd|embed_dim|mlp_dim|projection_dim"
    r"|embedding_size|pooler_output_size|ffn_hidden_size|d_ssm)$"
)
_HEADS = re.compile(r"^(?!.*index_)(.*_)?(heads|n_head)$")
_EXPERTS = re.compile(r"^(.*_)?(num|n)_?(local_|routed_)?experts$")
_CHOSEN = re.compile(r"(experts_per_tok(en)?|moe_topk|moe_k|router_top_?k)$")
_VOCABULARY = re.compile(r"vocab_size(_or_config_json_file)?$")
_TOKEN = re.compile(r"_token_(id|index)s?$|^(image|audio|video)_token$")
_INDICES = re.compile(r"(indexes|indices|out_features|_layers)$")

_WORDS = 1024
_IMAGE = 224
_MOST_LAYERS = 6


@dataclass(frozen=True)
class Level:
    """How much smaller: widths and head counts are divided by ``narrower``; ``sizes`` also cuts words and images."""

    narrower: int
    sizes: bool = True


#: Tried in this order: not every configuration survives every cut.
LEVELS = (Level(4), Level(1), Level(1, sizes=False))


def shrink(config: Any, level: Level) -> Any:
    """Make ``config``, and the configurations in it, smaller in place; returns it."""
    tokens = Tokens(_WORDS)
    for part in parts(config):
        _fewer_layers(part)
        _fewer_experts(part)
        if level.narrower > 1:
            _narrower(part, level.narrower)
        if level.sizes:
            _smaller(part, tokens)
    return config


def parts(config: Any) -> Iterator[Any]:
    """``config`` and all configurations nested in it."""
    yield config
    for value in list(vars(config).values()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            yield from parts(value)


def _integers(config: Any) -> list[tuple[str, int]]:
    return [(k, v) for k, v in vars(config).items() if type(v) is int and not k.startswith("_")]


def _lists(config: Any) -> list[tuple[str, list[Any]]]:
    return [(k, list(v)) for k, v in vars(config).items() if isinstance(v, (list, tuple)) and v and k[0] != "_"]


def _set(config: Any, name: str, value: Any) -> None:
    """Set an attribute; a configuration that refuses the value keeps the old one."""
    try:
        setattr(config, name, value)
    except (TypeError, ValueError, NotImplementedError):
        return


def _fewer_layers(config: Any) -> None:
    """Two layers, or as many as show every kind that a list with one entry for each layer names."""
    stages = hasattr(config, "depths")  # a pyramid: what looks like a number of layers is the number of its stages
    for name, count in _integers(config):
        if stages or not _LAYERS.search(name) or count <= 2:
            continue
        lists = _lists(config)
        kept = max([2, *(_first_of_each(v) for _, v in lists if len(v) == count and isinstance(v[0], str))])
        kept = min(kept, _MOST_LAYERS, count)
        _set(config, name, kept)
        for key, values in lists:
            if len(values) == count:
                _set(config, key, values[:kept])
            elif _INDICES.search(key) and all(type(v) is int for v in values):
                _set(config, key, sorted({min(v, kept - 1) for v in values}))
    for name, values in _lists(config):
        if name == "depths" and all(type(v) is int for v in values):
            _set(config, name, [min(v, 2) for v in values])


def _first_of_each(values: list[Any]) -> int:
    return max(values.index(v) for v in set(values)) + 1


def _fewer_experts(config: Any) -> None:
    for name, count in _integers(config):
        if _EXPERTS.search(name):
            _set(config, name, min(count, 8))
        elif _CHOSEN.search(name) or name in ("n_group", "num_expert_group"):
            _set(config, name, min(count, 2))
        elif name in ("topk_group", "first_k_dense_replace"):
            _set(config, name, min(count, 1))


def _narrower(config: Any, factor: int) -> None:
    for name, size in _integers(config):
        if _WIDTH.search(name) and size % (8 * factor) == 0:
            _set(config, name, size // factor)
        elif _HEADS.search(name) and size > 1:
            _set(config, name, size // factor if size % factor == 0 else (1 if size < factor else size))


def _smaller(config: Any, tokens: Tokens) -> None:
    for name, size in _integers(config):
        if _VOCABULARY.search(name):
            _set(config, name, min(size, _WORDS))
        elif _TOKEN.search(name) and size >= _WORDS:
            _set(config, name, tokens.low(size))
        elif name == "image_size" and size > _IMAGE:
            _set(config, name, _IMAGE)
    for name, values in _lists(config):
        if _TOKEN.search(name) and all(type(v) is int for v in values):
            _set(config, name, [tokens.low(v) if v >= _WORDS else v for v in values])


class Tokens:
    """Numbers below a small vocabulary for special tokens above it: the same one for the same token everywhere."""

    def __init__(self, words: int) -> None:
        self._words = words
        self._low: dict[int, int] = {}

    def low(self, token: int) -> int:
        """The small number of ``token``."""
        return self._low.setdefault(token, self._words - 1 - len(self._low))
