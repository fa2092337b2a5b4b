"""A model with fewer of its equal blocks: what breaks in one of them breaks in all, and two need the memory of two.

Of each list of submodules the first blocks of each kind stay; a kind is a class with parameters of the same shapes.
Lists inside the blocks stay as they are: those are experts and heads, which the code counts on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from torch import nn

#: Attributes that hold a number of layers, as ``num_hidden_layers``, ``n_blocks``, ``depth``.
_COUNTS = re.compile(r"(^|_)(layers?|blocks|depth)$")


def shrunk(model: nn.Module, most: int) -> list[str]:
    """Keep at most ``most`` blocks of each kind, in place; says what was left out, a clause for each list."""
    found = []
    for name, blocks in list(_lists(model, "")):
        kept = _kept(blocks, most)
        if len(kept) == len(blocks):
            continue
        left = Counter(type(block).__name__ for block in blocks if not any(block is one for one in kept))
        found.append(
            ", ".join(f"{count} of {len(blocks)} blocks {kind}" for kind, count in left.items())
            + (f" of {name}" if name else "")
        )
        _count_anew(model, len(blocks), len(kept))
        blocks._modules = {str(number): block for number, block in enumerate(kept)}
    return found


def _lists(module: nn.Module, name: str) -> Iterator[tuple[str, nn.ModuleList | nn.Sequential]]:
    """The outermost lists that have several blocks of one kind."""
    if isinstance(module, (nn.ModuleList, nn.Sequential)):
        kinds = Counter(_kind(block) for block in module if _has_parameters(block))
        if kinds and max(kinds.values()) > 1:
            yield name, module
            return
    for part, child in module.named_children():
        yield from _lists(child, f"{name}.{part}" if name else part)


def _kept(blocks: nn.ModuleList | nn.Sequential, most: int) -> list[nn.Module]:
    seen: Counter[Any] = Counter()
    kept = []
    for block in blocks:
        seen[_kind(block)] += 1
        if seen[_kind(block)] <= most or not _has_parameters(block):
            kept.append(block)
    return kept


def _kind(block: nn.Module) -> Any:
    return type(block), tuple((name, tuple(p.shape), p.dtype) for name, p in block.named_parameters())


def _has_parameters(block: nn.Module) -> bool:
    return next(block.parameters(), None) is not None


def _count_anew(model: nn.Module, before: int, after: int) -> None:
    """Attributes that hold the number of layers: code that counts with them finds those that stayed."""
    owners: list[Any] = [*model.modules()]
    for module in model.modules():
        config = getattr(module, "config", None)
        if hasattr(config, "__dict__"):
            owners.append(config)
    for owner in owners:
        for name, value in list(vars(owner).items()):
            if type(value) is int and value == before and _COUNTS.search(name):
                setattr(owner, name, after)
