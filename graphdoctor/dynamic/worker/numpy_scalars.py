"""Arguments that are numpy scalars, such as ``max(lengths)`` of an array."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from graphdoctor.dynamic.recompiles.arguments import Arguments, named
from graphdoctor.dynamic.user_code import pytree


def scalars(function: Callable[..., Any], arguments: Arguments) -> dict[str, bool | int | float | complex]:
    """The numpy scalars in the arguments of ``function`` as Python numbers, by name."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return {}
    found = {}
    for name, value in named(function, arguments).items():
        for leaf, part in pytree.leaves(value, name).items():
            # A float64 is a Python float too, so it is kept as it is.
            if isinstance(part, numpy.generic) or (leaf.endswith(pytree.OF_NUMPY) and not part.dim()):
                found[leaf.removesuffix(pytree.OF_NUMPY)] = part.item()
    return found
