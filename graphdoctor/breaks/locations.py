"""Whose code a path is, how results name it, and which function a line belongs to."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Literal

#: "library" is Python's own; it is transparent when a break is placed, as torch is.
Kind = Literal["own", "third-party", "torch", "library"]

_SITE = frozenset(("site-packages", "dist-packages"))
#: What stands before the name of a module: the folder of packages, or that of the standard library.
_INSTALLED = re.compile(rf"^.*/(?:{'|'.join(sorted(_SITE))}|lib/python3\.\d+t?)/")

#: How the names of code without a file begin: what torch and Python's import system make, and what is made from
#: strings (dataclasses, attrs, decorators), which stands for the code that requested it.
_TORCH_MADE = ("<eval_with_key>", "<frozen ", "<unknown>")
_GENERATED = ("<string>", "<attrs generated", "<decorator-gen", "<makefun", "<@beartype", "<__array_function__")


@dataclass(frozen=True)
class Project:
    """How a file is imported: ``module`` is its dotted name below ``root``, the folder for ``sys.path``."""

    module: str
    root: Path

    @property
    def package(self) -> str:
        """The dotted name of the package that holds the module; empty for a plain script."""
        return self.module.rpartition(".")[0]


def project_of(file: Path) -> Project:
    """Where ``file`` belongs: the folders above it that hold an ``__init__.py`` are its packages."""
    names = [file.stem]
    folder = file.parent
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    if names[1:] and names[-1] == "__init__":
        names.pop()
    return Project(".".join(names), folder)


@dataclass(frozen=True)
class Places:
    """The folders that decide whose code a path is. ``root`` is the scan root; all are absolute."""

    root: str
    own: tuple[str, ...]
    torch: str
    library: tuple[str, ...] = ()
    #: The folder of graphdoctor itself: its frames are never part of a user stack.
    tool: str = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    def show(self, path: str) -> str:
        """``path`` as results name it: posix, relative to the root where it lies under it."""
        if _under(path, self.root):
            return PurePath(os.path.relpath(path, self.root)).as_posix()
        return PurePath(path).as_posix()

    def kind(self, path: str) -> Kind:
        """Whose code ``path`` is."""
        return _kind(self, path)

    def innermost(self, frames: Sequence[tuple[str, int]]) -> tuple[str, int] | None:
        """Of files with lines, outermost first: the last that is the user's own, else that of a package."""
        for kind in ("own", "third-party"):
            for path, line in reversed(frames):
                if self.kind(path) == kind and not self.is_tool(path):
                    return path, line
        return None

    def is_tool(self, path: str) -> bool:
        """True for this tool's own frames."""
        return _under(path, self.tool)


@lru_cache(maxsize=1 << 14)
def _kind(places: Places, path: str) -> Kind:
    # Asked for each module that is imported, a few thousand, several times in a run.
    for folder in places.own:
        if _under(path, folder) and not is_installed(os.path.relpath(path, folder)):
            return "own"
    if path.startswith("<"):
        return kind_without_file(path)
    if _under(path, places.torch):
        return "torch"
    if is_installed(path):
        return "third-party"
    if any(_under(path, folder) for folder in places.library):
        return "library"
    # A checkout that is imported from elsewhere is the user's own, too.
    return "third-party" if is_beside_packages(path) else "own"


def without_site(path: str) -> str:
    """``path`` for a reader: of an installed file or one of Python's own what follows its folder of modules."""
    return _INSTALLED.sub("", path)


def kind_without_file(name: str) -> Kind:
    """Whose the code called ``name`` is: what a user types (``<stdin>``, ``<ipython-input-1>``) is the user's own."""
    if name.startswith(_TORCH_MADE):
        return "torch"
    return "library" if name.startswith(_GENERATED) else "own"


def own_folders(file: Path, root: Path) -> tuple[str, ...]:
    """The folders (or the file) whose code is the user's own when ``file`` is scanned from ``root``."""
    project = project_of(file)
    if is_installed(str(file)):
        # An installed package that is scanned: the package is own, its neighbours are not.
        return (str(project.root / project.module.partition(".")[0]),) if project.package else (str(file),)
    return tuple(dict.fromkeys((str(project.root), str(root))))


def function_at(text: str, line: int) -> str | None:
    """The qualified name ("Net.forward") of the innermost function that ``line`` of ``text`` belongs to, or None."""
    return next((name for first, last, name in _functions(text) if first <= line <= last), None)


@lru_cache(maxsize=64)
def comprehension_lines(text: str) -> tuple[tuple[int, int], ...]:
    """First and last line of every comprehension that is a function of its own up to Python 3.11."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp))
    return tuple((node.lineno, node.end_lineno or node.lineno) for node in nodes)


def code_at(text: str, line: int) -> str:
    """The text of the innermost function that ``line`` of ``text`` belongs to; empty outside of functions."""
    place = next(((first, last) for first, last, _ in _functions(text) if first <= line <= last), (1, 0))
    return "\n".join(text.split("\n")[place[0] - 1 : place[1]])


@lru_cache(maxsize=64)
def _functions(text: str) -> tuple[tuple[int, int, str], ...]:
    """First line, last line and qualified name of every function, innermost first."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: list[tuple[int, int, str]] = []
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    found.append((child.lineno, child.end_lineno or child.lineno, name))
                pending.append((child, f"{name}."))
            else:
                pending.append((child, prefix))
    return tuple(sorted(found, key=lambda f: f[1] - f[0]))


def _under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_installed(path: str) -> bool:
    """Whether ``path`` lies in a folder of installed packages."""
    return not _SITE.isdisjoint(path.replace(os.sep, "/").split("/"))


def is_beside_packages(path: str) -> bool:
    """Whether a folder above ``path`` is one that pip installed packages in: with ``--target`` it may have any name."""
    return any(map(_holds_packages, PurePath(path).parents))


@lru_cache(maxsize=4096)
def _holds_packages(folder: PurePath) -> bool:
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False
