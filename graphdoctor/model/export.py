"""The dataclasses of what ``torch.export`` makes of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Exported:
    """One way of ``torch.export``: with Dynamo (``strict``), or by running the Python code.

    ``operators`` are the calls in the exported graph, None where there is none. ``error`` is a clause; ``path`` and
    ``line`` say where, and ``rule`` is the code of the finding there, empty where there is none. ``gb_id`` is that of
    the graph break behind the error.
    """

    strict: bool
    outcome: Literal["ok", "failed", "differs"]
    operators: int | None = None
    error: str = ""
    path: str | None = None
    line: int | None = None
    function: str = ""
    gb_id: str | None = None
    rule: str = ""

    @property
    def way(self) -> str:
        """The argument that was given: ``strict=True``."""
        return f"strict={self.strict}"
