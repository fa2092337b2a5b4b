"""The files of a project: those that are scanned, and the modules that they import, each parsed once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import is_file, read
from graphdoctor.source.module_files import Layout, candidates, module_file
from graphdoctor.static.domain.class_lookups import LookupLog
from graphdoctor.static.domain.program import ModuleInfo, Scope
from graphdoctor.static.domain.values import Value
from graphdoctor.syntax import parse_check
from graphdoctor.syntax.module import SourceModule


class Project:
    """Finds and parses the modules that scanned files import from the same project.

    ``unsaved`` holds texts that stand for files, by resolved path: what an editor has not written yet. ``followed`` are
    installed packages that are part of the project by the user's wish, with the folders that hold them.
    """

    def __init__(self, unsaved: Mapping[Path, str] | None = None, followed: Mapping[str, Path] | None = None) -> None:
        self._unsaved = unsaved or {}
        self.followed = followed if followed is not None else {}
        self._sources: dict[Path, SourceModule | None] = {}
        self._resolved: dict[Path, Path] = {}
        self._files: dict[tuple[str, Path], tuple[Path | None, tuple[str, ...]]] = {}
        self.layout = Layout()
        #: Modules that scanned files import, each interpreted once, by their keys.
        self.library: dict[str, ModuleInfo] = {}
        #: Records the attributes that are looked up in their classes.
        self.lookups = LookupLog()
        #: Globals of imported modules that the scanned file rebinds by calls, with the values that ``forget`` restores.
        self.rebound: list[tuple[Scope, str, Value | None]] = []

    def read(self, file: Path) -> tuple[str, str]:
        """The text of ``file`` and its encoding. Raises SourceError."""
        text = self._unsaved.get(file.resolve())
        return (text, "utf-8") if text is not None else read(file)

    def add(self, source: SourceModule) -> None:
        """Register a scanned file, because the modules that it imports may import it."""
        self._sources[source.resolved] = source

    def forget(self, source: SourceModule) -> None:
        """Release a scanned file, and give the globals that its calls rebound in imported modules their old values."""
        del self._sources[source.resolved]
        for scope, name, before in reversed(self.rebound):
            if before is None:
                scope.names.pop(name, None)
            else:
                scope.names[name] = before
        self.rebound.clear()

    def close(self) -> None:
        """Give back the memory of the modules that were imported."""
        for module in self.library.values():
            module.break_reference_cycles()
        self.library.clear()
        self._sources.clear()

    def module_file(self, name: str, root: Path) -> tuple[Path | None, tuple[str, ...]]:
        """The file of the module ``name`` below ``root``, looked for once, and the paths that were looked at."""
        if (name, root) not in self._files:
            self._files[name, root] = module_file(name, root), tuple(map(str, candidates(name, root)))
        return self._files[name, root]

    def source(self, file: Path) -> SourceModule | None:
        """The parsed ``file``, or None when it does not exist or cannot be parsed."""
        known = self._resolved.get(file)
        file = known if known is not None else self._resolved.setdefault(file, file.resolve())
        if file not in self._sources:
            found: SourceModule | None = None
            if is_file(file):
                try:
                    text, encoding = self.read(file)
                    tree = parse_check.check(text)
                    found = SourceModule(file.as_posix(), file, text, encoding, tree)
                except SourceError:
                    found = None
            self._sources[file] = found
        return self._sources[file]


def looked_at(project: Project, module: ModuleInfo) -> frozenset[str]:
    """The full paths of the files, existing or not, on which the analysis of ``module`` depends."""
    file = module.source.resolved
    found = {str(file), *(str(folder / "__init__.py") for folder in file.parents if folder.is_relative_to(module.root))}
    waiting = [module]
    while waiting:
        for path in waiting.pop().looked_for:
            if path not in found:
                found.add(path)
                waiting += [project.library[path]] if path in project.library else []
    return frozenset(found)
