"""The names that the user gives the arguments of a wrapper, which is compiled around the user's function. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_ARGUMENT = re.compile(r"\b(?:L\['(\w+)'\]|(\w+))(\[(?:\d+|'\w+')\])")

_VARIABLE = re.compile(r"(?<![\w.\]])(?<!\[')(?:L\['(\w+)'\]|(\w+))(?=[.\[])")


class ArgumentNames:
    """The names for ``args[0]`` and ``kwargs['x']`` of one wrapper. Functions that share it may differ in them.

    What it wraps has a name if it is a module: ``fn`` is a ``Linear``.
    """

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}
        self._functions: set[tuple[str, int, str]] = set()
        #: The functions and modules that are wrapped.
        self.objects: set[str] = set()

    @property
    def function(self) -> tuple[str, int, str] | None:
        """File, first line and name of the function that is wrapped, where it is one."""
        return next(iter(self._functions)) if len(self._functions) == 1 else None

    @property
    def modules(self) -> list[str]:
        """The classes of the modules that are wrapped, in the order of their names."""
        return sorted(name for key, names in self._names.items() if key.isidentifier() for name in names)

    def add(self, names: Mapping[str, str], function: tuple[str, int, str], wrapped: str) -> None:
        """Take the names of one function, ``wrapped``, with its file, first line and name."""
        self._functions.add(function)
        self.objects.add(wrapped)
        for argument, name in names.items():
            self._names.setdefault(argument, set()).add(name)

    def renamed(self, reason: str) -> str:
        """The reason of a recompile with the names that are the same in all functions."""
        return _VARIABLE.sub(self._name, _ARGUMENT.sub(self._name, reason))

    def _name(self, found: re.Match[str]) -> str:
        names = self._names.get("".join(part for part in found.groups() if part is not None), set())
        return next(iter(names)) if len(names) == 1 else found[0]
