"""The values that the expressions of a file had while it was interpreted: what the fixes know of types."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import UNKNOWN, Value


class Recorder:
    """Keeps for each expression the join of the values it had on all paths that were interpreted."""

    def __init__(self) -> None:
        self._values: dict[cst.CSTNode, Value] = {}

    def note(self, node: cst.CSTNode, value: Value) -> None:
        """``node`` was evaluated to ``value``."""
        known = self._values.get(node)
        self._values[node] = value if known is None or known is value else join(known, value)

    def value(self, node: cst.CSTNode) -> Value:
        """What ``node`` was on every path; UNKNOWN where none evaluated it."""
        return self._values.get(node, UNKNOWN)
