"""Versions of torch, and the specifiers of the rules (``">=2.6,<2.9"``): the part of PEP 440 that they need. Pure."""

from __future__ import annotations

import operator
import re

#: What follows the numbers (``a0``, ``.dev20250901``, ``+cpu``) makes no difference to a rule.
_VERSION = re.compile(r"\s*(\d+(?:\.\d+)*)(?:\.?[a-z+-][\w.+-]*)?\s*", re.IGNORECASE)
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")
_COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def parse(text: str) -> tuple[int, ...] | None:
    """The numbers of a version without trailing zeros, or None: ``"2.10.0+cpu"`` is (2, 10)."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    numbers = [int(part) for part in found.group(1).split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def allows(specifier: str, version: str) -> bool:
    """Whether ``version`` is in ``specifier``. Raises ValueError where either cannot be read."""
    have = parse(version)
    if have is None:
        raise ValueError(f"{version!r} is no version")
    for clause in specifier.split(","):
        found = _CLAUSE.fullmatch(clause)
        if found is None:
            raise ValueError(f"{specifier!r} is no version specifier such as '>=2.6'")
        if not _COMPARE[found.group(1)](have, parse(found.group(2)) or ()):
            return False
    return True
