"""The modules that a file needs and that cannot be found: all of them, where Python stops at the first."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path

from graphdoctor.breaks.locations import is_installed
from graphdoctor.source.files import is_file, read
from graphdoctor.source.module_files import is_installed as holds_packages
from graphdoctor.source.module_files import module_file

#: Files of the project that are read.
_MOST = 1_000


def also_missing(error: BaseException, file: Path) -> str:
    """What the text of ``error`` has to go on with: the modules besides its own that ``file`` needs and nobody finds.

    Empty for other errors. Asked after the import that failed, so that Python looks where it looked for ``file``.
    """
    if not isinstance(error, ModuleNotFoundError) or not isinstance(error.name, str):
        return ""
    told = error.name.partition(".")[0]
    return "".join(f", '{name}'" for name in missing_modules(file) if name != told)


def missing_modules(file: Path) -> tuple[str, ...]:
    """Top-level modules that importing ``file`` surely asks for and that are not there, in the order of the imports.

    Installed packages are not read, and nothing is imported.
    """
    waiting = deque([*_packages(file), file])
    seen, missing = set(waiting), dict[str, None]()
    while waiting and len(seen) < _MOST:
        current = waiting.popleft()
        for statement in _imports(current):
            name = _missing(statement)
            if name:
                missing[name] = None
            new = [found for found in _files(statement, current) if found not in seen]
            seen.update(new)
            waiting.extend(new)
    return tuple(missing)


def _packages(file: Path) -> list[Path]:
    """The ``__init__.py`` of the packages that ``file`` lies in, the outermost first."""
    inside: list[Path] = []
    for folder in file.parents:
        if not is_file(folder / "__init__.py"):
            break
        inside.insert(0, folder / "__init__.py")
    return inside


def _imports(file: Path) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run whenever the file is imported: one in a ``try`` or under a condition need not succeed."""
    body: list[ast.stmt] = []
    with suppress(OSError, SyntaxError, ValueError, RecursionError):
        body = ast.parse(read(file)[0]).body
    for statement in body:
        if isinstance(statement, ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.Import):
            yield from (ast.Import([alias]) for alias in statement.names)


def _missing(statement: ast.Import | ast.ImportFrom) -> str:
    """The top-level module that the statement asks for and nobody finds; empty where it is there, or not known."""
    if isinstance(statement, ast.ImportFrom) and (statement.level or not statement.module):
        return ""
    top = _name(statement).partition(".")[0]
    return "" if top in sys.modules or _spec(top) is not None else top


def _name(statement: ast.Import | ast.ImportFrom) -> str:
    return (statement.module or "") if isinstance(statement, ast.ImportFrom) else statement.names[0].name


def _spec(top: str) -> ModuleSpec | None:
    """Where Python finds a top-level module. This imports nothing."""
    try:
        return importlib.util.find_spec(top)
    except Exception:
        # A finder of the user's code may raise anything; what it would find is not known.
        return ModuleSpec(top, None)


def _files(statement: ast.Import | ast.ImportFrom, file: Path) -> Iterator[Path]:
    """The files of the project that the statement runs."""
    name = _name(statement)
    if isinstance(statement, ast.ImportFrom) and statement.level:
        folders: Sequence[Path] = (file.parents[min(statement.level, len(file.parents)) - 1],)
    else:
        folders = _folders(name.partition(".")[0])
    parts = name.split(".") if name else []
    dotted = [".".join(parts[: count + 1]) for count in range(len(parts))]
    if isinstance(statement, ast.ImportFrom):
        dotted += [".".join([*parts, alias.name]) for alias in statement.names if alias.name != "*"]
    for folder in folders:
        found = (module_file(each, folder) for each in dotted)
        yield from (each for each in found if each is not None)


def _folders(top: str) -> Sequence[Path]:
    """The folders that hold a top-level module of the project; none where it is installed, built in or Python's own."""
    spec = None if top in sys.stdlib_module_names else _spec(top)
    if spec is None:
        return ()
    inside = [Path(folder) for folder in spec.submodule_search_locations or ()]
    places = [folder.parent for folder in inside] or (
        [Path(spec.origin).parent] if spec.has_location and spec.origin else []
    )
    return [place for place in places if not is_installed(str(place)) and not holds_packages(place)]
