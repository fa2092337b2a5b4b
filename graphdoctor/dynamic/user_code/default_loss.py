"""What goes backward where the file has no ``graphdoctor_loss``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import torch

from graphdoctor.dynamic.user_code.pytree import tensors


def default_loss(outputs: Any) -> torch.Tensor | None:
    """``outputs.loss``, else the sum of the means of all outputs that have a gradient; None when none has.

    It is as wide as the widest output: its rounding is that of what it was made of.
    """
    loss = outputs.get("loss") if isinstance(outputs, Mapping) else getattr(outputs, "loss", None)
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        return loss.mean()
    means = [t.abs().mean() if t.is_complex() else t.mean() for t in tensors(outputs) if t.requires_grad]
    if not means:
        return None
    return torch.stack([m.double() for m in means]).sum().to(reduce(torch.promote_types, [m.dtype for m in means]))
