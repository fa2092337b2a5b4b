"""Code of other frameworks, whose modules and tensors look like those of torch, but are never compiled by Dynamo."""

from __future__ import annotations

import re

#: Packages with modules and arrays of their own. Not Keras 3, whose layers are torch modules on its torch backend.
OTHER_FRAMEWORKS = frozenset((
    "chainer", "equinox", "flax", "haiku", "jax", "jittor", "megengine", "mindspore", "mlx", "mxnet", "objax",
    "oneflow", "paddle", "tensorflow", "tinygrad",
))  # fmt: skip

_IMPORTED = re.compile(rf"^\s*(?:import|from)\s+(?:{'|'.join(sorted(OTHER_FRAMEWORKS))})\b", re.MULTILINE)


#: Torch, and packages whose models are torch modules.
_OF_TORCH = re.compile(r"^\s*(?:import|from)\s+(?:\w*torch\w*|lightning|transformers|diffusers|timm)\b", re.MULTILINE)


def is_of_other_framework(qualname: str) -> bool:
    """Whether a dotted name is one of another framework: ``flax.nnx.Module``."""
    return qualname.partition(".")[0] in OTHER_FRAMEWORKS


def is_for_other_framework(text: str) -> bool:
    """Whether a file imports another framework and not torch."""
    # Most files import torch, which is found near their top.
    return _OF_TORCH.search(text) is None and _IMPORTED.search(text) is not None
