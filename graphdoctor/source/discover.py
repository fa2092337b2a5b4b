"""Which files to scan."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist", "site-packages"})


class PathNotFound(Exception):
    """A path that was given does not exist; the text is one line for the user."""


@dataclass(frozen=True)
class Discovery:
    """Files with the paths that findings show, in a stable order, and the folder these paths are relative to."""

    files: tuple[tuple[Path, str], ...]
    root: Path


def discover(paths: Sequence[str], exclude: Sequence[str] = ()) -> Discovery:
    """The Python files of ``paths``: files as they are, folders with what is below them.

    Hidden folders, virtual environments and build products are passed over; ``exclude`` holds glob patterns of shown
    paths or folder names. Files that are given by name are always taken. Raises PathNotFound.
    """
    given = [Path(os.path.abspath(path)) for path in paths]
    for path, text in zip(given, paths, strict=True):
        if not path.exists():
            raise PathNotFound(f"{text}: no such file or folder")
    root = _root(given)
    found: dict[Path, str] = {}
    for path in given:
        if path.is_dir():
            for file in _walk(path, root, exclude):
                found.setdefault(file, shown(file, root))
        else:
            found.setdefault(path, shown(path, root))
    return Discovery(tuple(found.items()), root)


def shown(file: Path, root: Path) -> str:
    """The path of ``file`` as findings show it: posix, relative to ``root`` where it lies under it."""
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()


def _root(given: Sequence[Path]) -> Path:
    """The working folder when everything lies under it, else the folder that holds everything."""
    here = Path.cwd()
    if all(path.is_relative_to(here) for path in given):
        return here
    return Path(os.path.commonpath([path if path.is_dir() else path.parent for path in given]))


def _walk(top: Path, root: Path, exclude: Sequence[str]) -> Iterator[Path]:
    seen: set[str] = set()
    for folder, folders, names in os.walk(top, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders[:] = []
            continue
        seen.add(real)
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not _is_skipped(here / name, root, exclude))
        for name in sorted(names):
            file = here / name
            if name.endswith(".py") and not _is_excluded(file, root, exclude) and file.is_file():
                yield file


def _is_skipped(folder: Path, root: Path, exclude: Sequence[str]) -> bool:
    if folder.name.startswith(".") or folder.name in _SKIPPED or folder.name.endswith(".egg-info"):
        return True
    return (folder / "pyvenv.cfg").exists() or _is_excluded(folder, root, exclude)


def _is_excluded(path: Path, root: Path, exclude: Sequence[str]) -> bool:
    name = shown(path, root)
    return any(
        fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(path.name, pattern) or name == pattern.rstrip("/")
        for pattern in exclude
    )
