"""The values that the expressions of a file had while it was interpreted: fixes take types from here."""

from __future__ import annotations

from functools import reduce
from typing import Any

import libcst as cst

from graphdoctor.static.domain.program import ModuleInfo
from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import UNKNOWN, Value


class Recorder:
    """Keeps for each expression, of ``module`` or of all, the values it had on all paths that were interpreted.

    Fixes look at few expressions, and most files have no fix, so the values are sorted by expression and joined only
    when one is looked up. Nodes are identified by ``id``, because libcst's own hash is a call in Python; they are kept
    alive so that no later node gets the same id.
    """

    def __init__(self, module: ModuleInfo | None = None) -> None:
        self.module = module
        #: Expressions and their values, in turn; and how many of them are among the values by expression.
        self._noted: list[Any] = []
        self._sorted = 0
        self._values: dict[int, list[Value]] = {}

    def note(self, node: cst.CSTNode, value: Value) -> None:
        """``node`` was evaluated to ``value``."""
        self._noted += (node, value)

    def value(self, node: cst.CSTNode) -> Value:
        """The value of ``node``, joined over all paths; UNKNOWN where none evaluated it."""
        noted, values = self._noted, self._values
        for position in range(self._sorted, len(noted), 2):
            known = values.setdefault(id(noted[position]), [])
            if not known or known[-1] is not noted[position + 1]:
                known.append(noted[position + 1])
        self._sorted = len(noted)
        return reduce(join, values.get(id(node), (UNKNOWN,)))
