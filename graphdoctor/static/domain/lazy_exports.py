"""Packages that import their modules on first use of a name: the names that they export.

Such an ``__init__.py`` makes its names at run time, in ways of its own, and imports them for type checkers under
``if TYPE_CHECKING:``. That is where they are read here; the files are not executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from graphdoctor.source.files import text_of
from graphdoctor.static.domain.program import module_file

#: A pattern that begins with a character, not with ``^``, is found three times as fast: a package has 50 MB of text.
_DEFINED = re.compile(r"\n(?:(?:class|def|async def)\s+(\w+)|(\w+)\s*(?::[^=\n]+)?=(?!=))")


@lru_cache(maxsize=4096)
def lazy_exports(file: Path, dotted: str, root: Path) -> Mapping[str, tuple[str, str]]:
    """Name to (module, name there) for what the package ``dotted`` in ``file`` imports for type checkers only.

    ``root`` is the folder that holds the package. Empty for a module that is not a package.
    """
    if file.name != "__init__.py":
        return {}
    found: dict[str, tuple[str, str]] = {}
    for statement in _for_type_checkers(text_of(file)):
        module = _absolute(statement, dotted)
        for alias in statement.names:
            if alias.name == "*":
                found |= _all(module, root)
            else:
                found[alias.asname or alias.name] = (module, alias.name)
    return found


def _all(dotted: str, root: Path) -> Mapping[str, tuple[str, str]]:
    """What ``from dotted import *`` gives."""
    file = module_file(dotted, root)
    if file is None:
        return {}
    names = {first or second: (dotted, first or second) for first, second in _DEFINED.findall(f"\n{text_of(file)}")}
    return {**names, **lazy_exports(file, dotted, root)}


def _for_type_checkers(text: str) -> Iterator[ast.ImportFrom]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, ast.If) and re.match(r"(\w+\.)?TYPE_CHECKING\b", ast.unparse(node.test)):
            yield from (inner for part in node.body for inner in ast.walk(part) if isinstance(inner, ast.ImportFrom))


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - (node.level - 1)], *filter(None, [node.module])])
