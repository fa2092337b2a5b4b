"""The names that packages export, also packages that import their modules lazily.

The ``__init__.py`` of such a package makes its names at run time, and imports them for type checkers under ``if
TYPE_CHECKING:``. They are read there; no file is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from graphdoctor.source.files import text_of
from graphdoctor.source.module_files import module_file

#: A pattern that begins with a character, not with ``^``, is found three times as fast, and a package may have 50 MB of
#: text.
_DEFINED = re.compile(r"\n(?:(?:class|def|async def)\s+(\w+)|(\w+)\s*(?::[^=\n]+)?=(?!=))")


@lru_cache(maxsize=4096)
def lazy_exports(file: Path, dotted: str, root: Path) -> Mapping[str, tuple[str, str]]:
    """Name to (module, name there) for what the package ``dotted`` in ``file`` imports for type checkers only.

    ``root`` is the folder that holds the package. Empty for a module that is not a package.
    """
    return _imported(_for_type_checkers(file), dotted, root)


def exports(file: Path, dotted: str, root: Path) -> Mapping[str, tuple[str, str]]:
    """The same for all names that it imports from modules at its top level."""
    at_once = (node for node in _statements(file) if isinstance(node, ast.ImportFrom))
    return {**_imported(at_once, dotted, root), **lazy_exports(file, dotted, root)}


def _imported(statements: Iterable[ast.ImportFrom], dotted: str, root: Path) -> Mapping[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for statement in statements:
        module = _absolute(statement, dotted)
        for alias in statement.names:
            if alias.name == "*":
                found |= _all(module, root)
            else:
                found[alias.asname or alias.name] = (module, alias.name)
    return found


def _all(dotted: str, root: Path) -> Mapping[str, tuple[str, str]]:
    """The names that ``from dotted import *`` binds."""
    file = module_file(dotted, root)
    if file is None:
        return {}
    names = {first or second: (dotted, first or second) for first, second in _DEFINED.findall(f"\n{text_of(file)}")}
    return {**names, **lazy_exports(file, dotted, root)}


def _statements(file: Path) -> Sequence[ast.stmt]:
    """The top level of the ``__init__.py`` of a package; none for another file."""
    try:
        return ast.parse(text_of(file)).body if file.name == "__init__.py" else ()
    except (SyntaxError, ValueError, RecursionError):
        return ()


def _for_type_checkers(file: Path) -> Iterator[ast.ImportFrom]:
    for node in _statements(file):
        if isinstance(node, ast.If) and re.match(r"(\w+\.)?TYPE_CHECKING\b", ast.unparse(node.test)):
            yield from (inner for part in node.body for inner in ast.walk(part) if isinstance(inner, ast.ImportFrom))


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - (node.level - 1)], *filter(None, [node.module])])
