"""Why a named model cannot be run."""

from __future__ import annotations

from graphdoctor.dynamic.user_code.target import NoTarget


class NotBuilt(NoTarget):
    """A model that cannot be made or run here; the text is the reason."""


def one_line(error: BaseException) -> str:
    """The class and the first words of ``error``."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
