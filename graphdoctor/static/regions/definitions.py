"""The names that the top level of a module defines."""

from __future__ import annotations

from graphdoctor.static.domain.program import ModuleInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Value


def defined(module: ModuleInfo) -> list[tuple[str, Value]]:
    """The names of ``module`` with their values: several where ``if`` and ``else`` define the same name."""
    return [(name, option) for name, value in module.scope.names.items() for option in options(value)]
