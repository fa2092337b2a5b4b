"""Repeated blocks: the modules that regional compilation compiles one by one."""

from __future__ import annotations

from torch import nn

from graphdoctor.dynamic.modules import tree


def repeated(model: nn.Module) -> list[tuple[str, ...]]:
    """The names of equal siblings (same class, same shapes), the outermost ones only."""
    found: list[tuple[str, ...]] = []
    for names in tree.repeated(model):
        taken = {name for group in found for name in group}
        if not any(names[0].startswith(f"{name}.") for name in taken):
            found.append(names)
    return found
