"""Why a model is left out."""

from __future__ import annotations


class NotBuilt(Exception):
    """A model that cannot be made or run here; the text says why."""


def one_line(error: BaseException) -> str:
    """The class and the first words of ``error``."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
