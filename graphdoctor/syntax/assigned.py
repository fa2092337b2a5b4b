"""What an assignment gives to each of its targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst


def assigned(target: Any, value: Any) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """``target`` with ``value``; of a tuple each part with its part of the value, or with the value that has it."""
    # Classes are compared: nodes are abstract base classes, with a slow ``isinstance``.
    if type(target) not in (cst.Tuple, cst.List):
        yield target, value
        return
    parts = value.elements if type(value) in (cst.Tuple, cst.List) else ()
    for number, element in enumerate(target.elements):
        yield element.value, parts[number].value if len(parts) == len(target.elements) else value
