"""Room for deep code: the analysis nests a few Python frames for each level of an expression."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Python frames that the static pass may nest.
RECURSION = 10_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow what ``syntax.check`` lets through: calls that nest inside deep expressions.

    10,000 Python frames fit a stack of 8 MB in Python 3.10, where each takes C stack too.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
