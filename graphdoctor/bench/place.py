"""``torch.compile`` on a submodule, in place: the keys of the state dict stay."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def hides_forward(module: nn.Module) -> bool:
    """Before torch 2.14 ``module.compile()`` compiles nothing, without a word: its ``forward`` is torch's own.

    Dynamo traces no frame of torch.nn as a root there (``nn.Sequential``, ``nn.TransformerEncoderLayer``).
    ``torch.compile(module.forward)`` goes through a function that it does trace (torch/_dynamo/eval_frame.py,
    ``wrap_inline``).
    """
    return type(module).forward.__module__.startswith("torch.nn.")


def compile_in_place(module: nn.Module, **keywords: Any) -> None:
    """Compile calls of ``module``; the ``keywords`` are those of torch.compile."""
    if hides_forward(module):
        module.forward = torch.compile(module.forward, **keywords)
    else:
        module.compile(**keywords)
