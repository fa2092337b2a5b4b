"""Finds where a guarded number is held (``self.step``, ``G['Holder'].n``), and puts a tensor in its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Slot:
    """One attribute or item of ``owner`` that holds a number."""

    owner: Any
    key: Any
    is_item: bool

    @property
    def value(self) -> Any:
        """What the slot holds now."""
        return self.owner[self.key] if self.is_item else getattr(self.owner, self.key)

    def fill(self, value: Any) -> None:
        """Put ``value`` into the slot; a tensor on a module becomes a buffer."""
        if self.is_item:
            self.owner[self.key] = value
        elif isinstance(self.owner, nn.Module) and isinstance(value, torch.Tensor) and self.key in vars(self.owner):
            delattr(self.owner, self.key)
            self.owner.register_buffer(self.key, value)
        else:
            setattr(self.owner, self.key, value)


def find(expression: str, roots: Mapping[str, Any]) -> Slot | None:
    """The slot that ``expression`` names, its first name looked up in ``roots``; None unless it holds a number."""
    try:
        node = ast.parse(expression, mode="eval").body
        slot = _slot(node, roots)
        value = slot.value if slot else None
    except Exception:  # a guard's expression need not be Python, and user objects may refuse to be read
        return None
    return slot if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _slot(node: ast.expr, roots: Mapping[str, Any]) -> Slot | None:
    if isinstance(node, ast.Attribute):
        return Slot(_value(node.value, roots), node.attr, False)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return Slot(_value(node.value, roots), node.slice.value, True)
    return None


def _value(node: ast.expr, roots: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return roots[node.id]
    slot = _slot(node, roots)
    if slot is None:
        raise ValueError("not a name, an attribute or an item")
    return slot.value


@contextmanager
def as_tensors(slots: tuple[Slot, ...], device: torch.device) -> Iterator[None]:
    """Hold the numbers of ``slots`` in tensors while the block runs."""
    before = [(slot, slot.value) for slot in slots]
    for slot, value in before:
        slot.fill(torch.tensor(value, device=device))
    try:
        yield
    finally:
        for slot, value in before:
            # A module belongs to the sample, which is not used again; a global outlives the run.
            if not isinstance(slot.owner, nn.Module):
                slot.fill(value)
