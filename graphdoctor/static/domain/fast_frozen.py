"""Frozen dataclasses of which a scan makes hundreds of thousands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda decorator: decorator


_Kind = TypeVar("_Kind")


@dataclass_transform(frozen_default=True)
def frozen(kind: type[_Kind]) -> type[_Kind]:
    """A dataclass that type checkers treat as frozen, compared and hashed by its fields unless it defines ``__hash__``.

    At run time its fields can be set: ``dataclass(frozen=True)`` makes objects three times as slowly.
    """
    return dataclass(unsafe_hash="__hash__" not in vars(kind))(kind)
