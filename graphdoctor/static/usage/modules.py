"""The modules of the project that a script imports, and what their top level binds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

from graphdoctor.static.domain.program import ModuleInfo, Scope
from graphdoctor.static.interp import imports
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.usage.events import imported_from
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import walk


@dataclass(frozen=True)
class Bindings:
    """The statements at the top level of a module by the names that they bind, and the modules of ``import *``."""

    names: Mapping[str, tuple[cst.BaseStatement, ...]]
    stars: tuple[str, ...]


def bindings(source: SourceModule) -> Bindings:
    """What the top level of a module binds; a compound statement counts for each name in it."""
    names: dict[str, tuple[cst.BaseStatement, ...]] = {}
    stars: list[str] = []
    for statement in source.top.body:
        if not isinstance(statement, cst.BaseStatement):
            continue
        for name in _bound(statement):
            names[name] = (*names.get(name, ()), statement)
        small = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
        for each in small:
            if isinstance(each, cst.ImportFrom) and isinstance(each.names, cst.ImportStar):
                stars.append(imported_from(each))
    return Bindings(names, tuple(stars))


def _bound(statement: cst.BaseStatement) -> set[str]:
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        return {statement.name.value}
    found: set[str] = set()
    for node in walk(statement, stop=(cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        # Most nodes are none of these, and ``isinstance`` of nodes, which are abstract base classes, is slow.
        if type(node) not in _BINDING:
            continue
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            found.add(node.name.value)
        elif isinstance(node, (cst.AssignTarget, cst.AnnAssign)) and isinstance(node.target, cst.Name):
            found.add(node.target.value)
        elif isinstance(node, (cst.Import, cst.ImportFrom)) and not isinstance(node.names, cst.ImportStar):
            found |= {alias.evaluated_alias or alias.evaluated_name.partition(".")[0] for alias in node.names}
    return found


#: Statements and targets that bind names at the top level of a module.
_BINDING = frozenset((cst.FunctionDef, cst.ClassDef, cst.AssignTarget, cst.AnnAssign, cst.Import, cst.ImportFrom))


class Modules:
    """Finds the modules of the project of one scanned file."""

    def __init__(self, interpreter: Interpreter, main: ModuleInfo) -> None:
        self._interpreter = interpreter
        self._main = main
        self._infos = {main.key: main}
        self._found: dict[tuple[str, str], ModuleInfo | None] = {}

    def find(self, importer: SourceModule, dotted: str) -> SourceModule | None:
        """The module ``dotted``, which may be relative, that ``importer`` imports; None outside the project."""
        if dotted.startswith("."):
            dotted = self.absolute(importer, dotted)
        info = self._info(str(importer.file), dotted)
        return info.source if info is not None else None

    def read(self, file: Path) -> str:
        """The text of a file of the project. Raises SourceError."""
        return self._interpreter.project.read(file)[0]

    def looked_for(self, sources: Iterable[SourceModule]) -> frozenset[str]:
        """The paths of the files, there or not, that were looked for when these modules were asked what they import."""
        infos = (self._infos.get(str(source.file)) for source in sources)
        return frozenset(path for info in infos if info is not None for path in info.looked_for)

    def depend_on(self, paths: Iterable[str]) -> None:
        """Note that what is known of the scanned file depends on these paths."""
        self._main.looked_for.update(paths)

    def absolute(self, importer: SourceModule, relative: str) -> str:
        """The dotted name of a module named by ``..helpers``."""
        info = self._infos.get(str(importer.file))
        name = relative.lstrip(".")
        package = info.package.split(".") if info is not None and info.package else []
        above = package[: len(package) - (len(relative) - len(name) - 1)]
        return ".".join([*above, name] if name else above)

    def _info(self, importer: str, dotted: str) -> ModuleInfo | None:
        if (importer, dotted) not in self._found:
            self._found[importer, dotted] = self._load(self._infos.get(importer), dotted)
        return self._found[importer, dotted]

    def _load(self, here: ModuleInfo | None, dotted: str) -> ModuleInfo | None:
        if here is None:
            return None
        project = self._interpreter.project
        file = imports.module_path(self._interpreter, here, dotted)
        # What is known of the scanned file depends on these files too.
        self._main.looked_for.update(here.looked_for)
        source = project.source(file) if file is not None else None
        if source is None:
            return None
        if str(source.file) not in self._infos:
            package = dotted if source.file.name == "__init__.py" else dotted.rpartition(".")[0]
            self._infos[str(source.file)] = ModuleInfo(source, dotted, package, Scope("module"))
        return self._infos[str(source.file)]
