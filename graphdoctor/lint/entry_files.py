"""Which files are worth analysing: most files of a project compile nothing, and parsing them takes most of the time.

A file that mentions torch is worth it. So is one that only starts a program, ``import trainer; trainer.main()``, where
a module of the project that it imports mentions torch: calls are followed from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import is_file
from graphdoctor.source.module_files import imported_names
from graphdoctor.static.domain.project import Project

#: A file without any of them compiles nothing. A model's base may come from another file, which imports torch.
_WORDS = ("torch", "lightning", "transformers", "def forward")


@dataclass(frozen=True)
class Look:
    """Whether a file is analysed, and the full paths of other files, there or not, on which that depends."""

    is_worth_it: bool
    looked_for: frozenset[str] = frozenset()


def look(file: Path, text: str, project: Project) -> Look:
    """Look at a file and, where it starts a program, at the texts of the modules of the project that it imports."""
    if _mentions_torch(text):
        return Look(True)
    if "__main__" not in text and is_file(file.parent / "__init__.py"):
        # A module of a package, which others import.
        return Look(False)
    looked_for: set[str] = set()
    for name in sorted(imported_names(text)):
        for root in _roots(file, name, project):
            found, paths = project.module_file(name.lstrip("."), root)
            looked_for.update(paths)
            if found is not None and _is_read_with_torch(found, project):
                return Look(True)
    return Look(False, frozenset(looked_for))


def _roots(file: Path, name: str, project: Project) -> tuple[Path, ...]:
    """Where a module that a script imports may lie; nowhere for ``from . import a``."""
    folder = file.resolve().parent
    dots = len(name) - len(name.lstrip("."))
    if dots:
        above = (folder, *folder.parents)
        return above[dots - 1 : dots] if name.strip(".") else ()
    return (folder, *project.layout.roots(folder, name.partition(".")[0]))


def _is_read_with_torch(file: Path, project: Project) -> bool:
    try:
        return _mentions_torch(project.read(file)[0])
    except SourceError:
        return False


def _mentions_torch(text: str) -> bool:
    return any(word in text for word in _WORDS)
