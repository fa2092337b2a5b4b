"""The public names of a package: those in ``__all__``, or that an ``__init__.py`` of the package imports.

Users call and compile such a function on its own, so it is entered like a ``forward``. The ``__init__.py`` files are
read as text: to interpret them would mean to interpret the whole package.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from graphdoctor.source.files import text_of
from graphdoctor.static.domain.program import ModuleInfo
from graphdoctor.static.domain.values import Const, Seq


def public_names(module: ModuleInfo) -> frozenset[str]:
    """The names of ``module`` that users of its package are meant to use. Empty where nothing declares them."""
    listed = _listed(module)
    found = set(listed)
    if module.source.resolved.name == "__init__.py":
        found |= listed or _unhidden(module)
    folder, package = module.source.resolved.parent, module.package
    parent, _, last = module.name.rpartition(".")
    while package and folder != module.root:
        handed_on = _handed_on(folder / "__init__.py", package)
        named = handed_on.get(module.name, frozenset())
        if "*" in named or last in handed_on.get(parent, ()):
            # All of it, by ``from .module import *`` or ``from . import module``.
            named = named - {"*"} | (listed or _unhidden(module))
        found |= named
        folder, package = folder.parent, package.rpartition(".")[0]
    return frozenset(found)


def _listed(module: ModuleInfo) -> set[str]:
    """The names in ``__all__``."""
    named = module.scope.names.get("__all__")
    return {str(v.value) for v in named.items or () if isinstance(v, Const)} if isinstance(named, Seq) else set()


def _unhidden(module: ModuleInfo) -> set[str]:
    return {name for name in module.scope.names if not name.startswith("_")}


@lru_cache(maxsize=4096)
def _handed_on(file: Path, package: str) -> dict[str, frozenset[str]]:
    """For each module, the names of it that ``file``, the ``__init__.py`` of ``package``, imports at its top level."""
    try:
        tree = ast.parse(text_of(file))
    except (SyntaxError, ValueError, RecursionError, OSError):
        return {}
    found: dict[str, frozenset[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module = _absolute(node, package)
            found[module] = found.get(module, frozenset()) | {alias.name for alias in node.names}
    return found


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - (node.level - 1)], *filter(None, [node.module])])
