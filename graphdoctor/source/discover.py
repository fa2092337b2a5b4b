"""Which files to scan."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdoctor.source.files import is_file
from graphdoctor.source.gitignore import GitIgnore
from graphdoctor.source.path_patterns import PathPattern

#: Folders that hold what tools made or installed.
_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist", "site-packages", "__pypackages__"})


class PathNotFound(Exception):
    """There is nothing to scan at a path that was given; the text is one line for the user."""


@dataclass(frozen=True)
class Discovery:
    """Files with the paths that findings show, in a stable order, and the folder these paths are relative to."""

    files: tuple[tuple[Path, str], ...]
    root: Path


def discover(paths: Sequence[str], exclude: Sequence[PathPattern] = ()) -> Discovery:
    """The Python files of ``paths``: files as they are, folders with what is below them.

    Below a folder, hidden folders, virtual environments, build products, what .gitignore files name and what
    ``exclude`` names are passed over. What is given by name is always taken, and a file that has two names once.
    Raises PathNotFound.
    """
    absolute = [Path(os.path.abspath(path)) for path in paths]
    for path, text in zip(absolute, paths, strict=True):
        if not os.path.exists(path):
            raise PathNotFound(f"{text}: no such file or folder")
    root = _root(absolute)
    found: dict[str, Path] = {}
    for path in absolute:
        for file in _walk(path, exclude) if os.path.isdir(path) else (path,):
            found.setdefault(os.path.realpath(file), file)
    if not found:
        folders = " and ".join(dict.fromkeys(paths))
        raise PathNotFound(f"{folders}: no Python files there, or all are excluded or ignored by git")
    return Discovery(tuple((file, shown(file, root)) for file in found.values()), root)


def shown(file: Path, root: Path) -> str:
    """The path of ``file`` as findings show it: posix, relative to ``root`` where it lies under it."""
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()


def is_excluded(path: Path, exclude: Sequence[PathPattern]) -> bool:
    """True when a pattern of ``exclude`` means the absolute ``path`` or a folder above it."""
    return any(pattern.matches(path) for pattern in exclude)


def _root(absolute: Sequence[Path]) -> Path:
    """The working folder when everything lies under it, else the folder that holds everything."""
    here = Path.cwd()
    if all(path.is_relative_to(here) for path in absolute):
        return here
    return Path(os.path.commonpath([path if os.path.isdir(path) else path.parent for path in absolute]))


def _walk(top: Path, exclude: Sequence[PathPattern]) -> Iterator[Path]:
    """The files under ``top``. What links lead to comes last: a file that is there without one is named so."""
    ignored = GitIgnore(top)
    seen: set[str] = set()

    def below(folder: Path) -> Iterator[Path]:
        real = os.path.realpath(folder)
        if real in seen:
            return
        seen.add(real)
        folders = []
        entries = _entries(folder, exclude, ignored)
        if entries is None:
            # Reading it says why: what is in there was not checked.
            yield folder
            return
        for entry in entries:
            if entry.is_symlink():
                links.append(folder / entry.name)
            elif entry.is_dir():
                folders.append(folder / entry.name)
            else:
                yield folder / entry.name
        for inner in folders:
            yield from below(inner)

    links: list[Path] = []
    yield from below(top)
    for link in links:
        # Links in what it leads to are appended to the list.
        yield from below(link) if os.path.isdir(link) else (link,)


def _entries(folder: Path, exclude: Sequence[PathPattern], ignored: GitIgnore) -> list[os.DirEntry[str]] | None:
    """The folders and the Python files in ``folder`` that are read; None where the user may not list it."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except PermissionError:
        return None
    except OSError:
        return []
    kept = []
    for entry in found:
        path = folder / entry.name
        # A link may lead to itself.
        is_folder = os.path.isdir(path) if entry.is_symlink() else entry.is_dir()
        wanted = not _is_skipped(path) if is_folder else entry.name.endswith((".py", ".ipynb")) and is_file(path)
        if wanted and not is_excluded(path, exclude) and not ignored.ignores(path, is_folder=is_folder):
            kept.append(entry)
    return kept


def _is_skipped(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in _SKIPPED or folder.name.endswith(".egg-info"):
        return True
    # A run that wandb logged keeps a copy of the code.
    is_copy = folder.parent.name == "wandb" and folder.name.startswith(("run-", "offline-run-"))
    return is_copy or os.path.exists(folder / "pyvenv.cfg")
