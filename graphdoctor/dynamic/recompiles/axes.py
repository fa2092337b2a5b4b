"""Which dimensions of the inputs belong together: those of the batch, of the sequence, or of one size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

#: The dimensions of inputs that change together.
Group = frozenset[tuple[str, int]]


def of(axis: str, leaves: dict[str, Any]) -> list[Group]:
    """The dimensions of the batch or the sequence in ``leaves``, the widest guess first; empty where none is seen.

    The sequence is the second dimension of int64 ids [B, S], or of two inputs that agree in it.
    """
    tensors = {name: leaf for name, leaf in leaves.items() if isinstance(leaf, torch.Tensor) and leaf.ndim > 0}
    if axis == "batch":
        return _groups(tensors, next(iter(tensors), None), 0, range(1))
    ids = next((n for n, t in tensors.items() if t.dtype == torch.int64 and t.ndim == 2), None)
    if ids is None:
        seen: dict[int, str] = {}
        for name, tensor in tensors.items():
            if tensor.ndim >= 2 and ids is None:
                ids = seen.get(tensor.shape[1])
                seen.setdefault(tensor.shape[1], name)
    return _groups(tensors, ids, 1, range(1, 8))


def tied(name: str, dimension: int, leaves: dict[str, Any]) -> list[Group]:
    """The dimension ``dimension`` of all inputs that have the same size there as input ``name``; then of it alone."""
    size = leaves[name].shape[dimension]
    same = frozenset((n, dimension) for n, leaf in leaves.items() if _size(leaf, dimension) == size)
    return list(dict.fromkeys([same, frozenset({(name, dimension)})]))


def _groups(tensors: dict[str, torch.Tensor], name: str | None, dimension: int, among: Iterable[int]) -> list[Group]:
    if name is None or (size := tensors[name].shape[dimension]) == 0:
        return []
    everywhere = frozenset((n, d) for n, t in tensors.items() for d in among if _size(t, d) == size)
    same_place = frozenset((n, d) for n, d in everywhere if d == dimension)
    return list(dict.fromkeys([everywhere, same_place, frozenset({(name, dimension)})]))


def _size(value: Any, dimension: int) -> int | None:
    return value.shape[dimension] if isinstance(value, torch.Tensor) and -1 < dimension < value.ndim else None
