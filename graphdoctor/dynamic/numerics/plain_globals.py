"""Numbers, texts and containers of such at module level: what each call that is compared begins with."""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from types import ModuleType
from typing import Any

_VALUES = (int, float, complex, bool, str, bytes, type(None))
_SEQUENCES = (list, deque)
_TABLES = (dict, Counter, OrderedDict, defaultdict)

#: Larger containers are no counters and no caches.
_MOST = 1_000


class PlainGlobals:
    """The plain globals of ``modules`` as they are now; ``restore`` brings them back, in the same containers."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._kept = [
            (vars(module), name, value, copy.deepcopy(value))
            for module in modules
            for name, value in list(vars(module).items())
            if not name.startswith("__") and _is_plain(value)
        ]

    def restore(self) -> None:
        """Undo what calls have changed since. A container that was replaced is put back."""
        for namespace, name, value, kept in self._kept:
            namespace[name] = value
            if type(value) in _VALUES or value == kept:
                continue
            value.clear()
            if type(value) in _SEQUENCES:
                value.extend(copy.deepcopy(kept))
            else:
                value.update(copy.deepcopy(kept))


def _is_plain(value: Any, depth: int = 3) -> bool:
    if type(value) in _VALUES:
        return True
    if depth == 0 or type(value) not in (*_SEQUENCES, *_TABLES, set) or len(value) > _MOST:
        return False
    parts = [*value, *(value.values() if type(value) in _TABLES else ())]
    return all(_is_plain(part, depth - 1) for part in parts)
