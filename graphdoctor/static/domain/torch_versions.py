"""What a comparison with the version of torch gives: the same on every version that is supported, or not known.

Libraries ask for it to choose between an old and a new function of torch, and the old one is seldom meant.
"""

from __future__ import annotations

from graphdoctor.static.domain.values import Const, External, Value
from graphdoctor.target_torch import specifiers
from graphdoctor.target_torch.tested import OLDEST_TORCH

#: The version, also once it was read by one of ``_READERS``.
VERSION = External("torch.__version__")

#: Functions that make a version from a string, so that versions are compared number by number.
_READERS = frozenset({
    "packaging.version.parse", "packaging.version.Version", "pkg_resources.parse_version",
    "pkg_resources.packaging.version.parse", "distutils.version.LooseVersion", "torch.torch_version.TorchVersion",
})  # fmt: skip

#: By the class of the comparison: what it gives where the version is newer than the other one, and where it may also be
#: equal to it; None where that is not known.
_ANSWERS: dict[str, tuple[bool, bool | None]] = {
    "GreaterThanEqual": (True, True), "LessThan": (False, False), "GreaterThan": (True, None),
    "LessThanEqual": (False, None), "Equal": (False, None), "NotEqual": (True, None),
}  # fmt: skip

_MIRRORED = {
    "GreaterThanEqual": "LessThanEqual", "LessThan": "GreaterThan", "GreaterThan": "LessThan",
    "LessThanEqual": "GreaterThanEqual",
}  # fmt: skip


def read(qualname: str, args: tuple[Value, ...]) -> Value | None:
    """The version that the call of ``qualname`` makes from a version or its text; None for other calls."""
    if qualname not in _READERS or len(args) != 1:
        return None
    return args[0] if args[0] == VERSION or _numbers(args[0]) else None


def compared(name: str, left: Value, right: Value) -> bool | None:
    """``left <name> right`` for the libcst comparison class ``name``, where one of them is the version of torch."""
    if right == VERSION:
        name, left, right = _MIRRORED.get(name, name), right, left
    other = _numbers(right) if left == VERSION else ()
    oldest = specifiers.parse(OLDEST_TORCH)
    if not other or oldest is None or other > oldest or name not in _ANSWERS:
        return None
    return _ANSWERS[name][other == oldest]


def _numbers(value: Value) -> tuple[int, ...]:
    """The numbers of a text that is a version; empty for what is none."""
    text = value.value if isinstance(value, Const) else None
    return (specifiers.parse(text) or ()) if isinstance(text, str) else ()
