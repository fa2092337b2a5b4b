"""Counters, lists and tables at module level, which are reset before each call that is compared.

Flags, strings and None stay as calls leave them, since they may record a setup that is done once.
"""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from types import ModuleType
from typing import Any

_NUMBERS = (int, float, complex)
_SEQUENCES = (list, deque)
_TABLES = (dict, Counter, OrderedDict, defaultdict)
#: What containers may hold.
_VALUES = (*_NUMBERS, bool, str, bytes, type(None))

#: Larger containers are no counters and no caches.
_MOST = 1_000


class PlainGlobals:
    """The plain globals of ``modules`` as they are now; ``restore`` brings them back, in the same containers."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._kept = [
            (vars(module), name, value, copy.deepcopy(value))
            for module in modules
            for name, value in list(vars(module).items())
            if not name.startswith("__") and (type(value) in _NUMBERS or _is_plain(value))
        ]

    def restore(self) -> None:
        """Undo what calls have changed since. A container that was replaced is put back."""
        for namespace, name, value, kept in self._kept:
            namespace[name] = value
            if type(value) in _NUMBERS or value == kept:
                continue
            value.clear()
            if type(value) in _SEQUENCES:
                value.extend(copy.deepcopy(kept))
            else:
                value.update(copy.deepcopy(kept))


def _is_plain(container: Any, depth: int = 3) -> bool:
    if depth == 0 or type(container) not in (*_SEQUENCES, *_TABLES) or len(container) > _MOST:
        return False
    parts = [*container, *(container.values() if type(container) in _TABLES else ())]
    return all(type(part) in _VALUES or _is_plain(part, depth - 1) for part in parts)
