"""Path patterns of settings, as ruff and flake8 read them."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PathPattern:
    """A glob. Without a slash it is the name of a file or folder anywhere; with one it is a path from ``base``.

    ``*`` matches slashes too. What matches a folder matches everything below it.
    """

    text: str
    base: Path

    def matches(self, path: Path) -> bool:
        """Whether the absolute ``path``, or a folder above it and below ``base``, is meant."""
        text = self.text.rstrip("/").removeprefix("./")
        inside = path.is_relative_to(self.base)
        if "/" not in text:
            names = path.relative_to(self.base).parts if inside else (path.name,)
            return any(fnmatch.fnmatch(name, text) for name in names)
        if text.startswith("/"):
            candidates = [path.as_posix(), *(parent.as_posix() for parent in path.parents)]
        elif inside:
            relative = path.relative_to(self.base)
            candidates = [relative.as_posix(), *(parent.as_posix() for parent in relative.parents)]
        else:
            return False
        # "**/" may also stand for no folder at all.
        globs = {text, text.replace("**/", "")}
        return any(fnmatch.fnmatch(candidate, glob) for candidate in candidates for glob in globs)
