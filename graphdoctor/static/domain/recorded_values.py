"""The values that the expressions of a file had while it was interpreted: what the fixes know of types."""

from __future__ import annotations

from functools import reduce
from typing import Any

import libcst as cst

from graphdoctor.static.domain.program import ModuleInfo
from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import UNKNOWN, Value


class Recorder:
    """Keeps for each expression, of ``module`` or of all, the values it had on all paths that were interpreted.

    Fixes look at few of the expressions, so values are joined when one is looked up. Nodes are known by their
    identity, because libcst's own hash is a call in Python; they are kept, each in front of its values, so that no
    later node gets the same one.
    """

    def __init__(self, module: ModuleInfo | None = None) -> None:
        self.module = module
        self._values: dict[int, list[Any]] = {}

    def note(self, node: cst.CSTNode, value: Value) -> None:
        """``node`` was evaluated to ``value``."""
        known = self._values.get(id(node))
        if known is None:
            self._values[id(node)] = [node, value]
        elif known[-1] is not value:
            known.append(value)

    def value(self, node: cst.CSTNode) -> Value:
        """What ``node`` was on every path; UNKNOWN where none evaluated it."""
        known = self._values.get(id(node))
        return UNKNOWN if known is None else reduce(join, known[1:])
