"""Room for deep code: the analysis nests a few Python frames for each level of an expression."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: Python frames that the static pass may nest.
RECURSION = 10_000
#: The size of the frame below a deep call, in words: 2 MiB. CPython takes the memory of frames from the system in
#: blocks of 16 KiB, and gives a block back when the first frame in it returns, so calls at the edge of a block can take
#: longer than what they do. The block that it takes for a frame of this size has room for thousands more.
_FRAME_WORDS = 2**18


def deep_recursion(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A decorator that allows what ``syntax.check`` lets through: calls that nest inside deep expressions.

    10,000 Python frames fit a stack of 8 MB in Python 3.10, where each takes C stack too.
    """

    @wraps(function)
    def deep(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        limit = sys.getrecursionlimit()
        if limit >= RECURSION:
            return function(*args, **kwargs)
        sys.setrecursionlimit(RECURSION)
        try:
            return _in_large_frame(partial(function, *args, **kwargs))
        finally:
            sys.setrecursionlimit(limit)

    return deep


def _in_large_frame(call: Callable[[], Result]) -> Result:
    return call()


_in_large_frame.__code__ = _in_large_frame.__code__.replace(co_stacksize=_FRAME_WORDS)
