"""The values that the expressions of a file had while it was interpreted: what the fixes know of types."""

from __future__ import annotations

from functools import reduce

import libcst as cst

from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import UNKNOWN, Value


class Recorder:
    """Keeps for each expression the values it had on all paths that were interpreted.

    Fixes look at few of the expressions, so values are joined when one is looked up. Nodes are known by their
    identity, because libcst's own hash is a call in Python; the trees outlive their recorder.
    """

    def __init__(self) -> None:
        self._values: dict[int, list[Value]] = {}

    def note(self, node: cst.CSTNode, value: Value) -> None:
        """``node`` was evaluated to ``value``."""
        seen = self._values.get(id(node))
        if seen is None:
            self._values[id(node)] = [value]
        elif seen[-1] is not value:
            seen.append(value)

    def value(self, node: cst.CSTNode) -> Value:
        """What ``node`` was on every path; UNKNOWN where none evaluated it."""
        seen = self._values.get(id(node))
        return UNKNOWN if seen is None else reduce(join, seen)
