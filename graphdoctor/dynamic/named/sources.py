"""Which file of an installed package defines a class or a function: read from the texts, nothing is imported."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from graphdoctor.source.files import text_of


def package(name: str) -> Path | None:
    """The folder of the package ``name``, or the file of the module; None where Python finds none."""
    here = Path(os.getcwd())
    for found in (here / name, here / f"{name}.py"):
        if (found / "__init__.py").is_file() or found.is_file():
            return found
    try:
        # Of a name without a dot nothing is imported.
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.origin and os.path.isfile(spec.origin) else None


def module(dotted: str) -> Path | None:
    """The file of the module ``dotted``; None where there is none."""
    top, *rest = dotted.split(".")
    if top in sys.builtin_module_names:
        return None
    found = package(top)
    if found is None:
        return None
    target = found.joinpath(*rest) if rest else found
    return next((file for file in (target / "__init__.py", target.with_suffix(".py")) if file.is_file()), None)


def definitions(folder: Path, pattern: str, what: str) -> Mapping[str, Path]:
    """The ``what`` ("class", "def") at the top of the files of ``folder`` that fit ``pattern``, by name."""
    # A fleet asks for each of its names, and the files of transformers take a fifth of a second.
    return _kept(folder, pattern, what, folder.stat().st_mtime_ns if folder.is_dir() else 0)


@lru_cache(maxsize=4)
def _kept(folder: Path, pattern: str, what: str, _changed: int) -> Mapping[str, Path]:
    return dict(_definitions(folder, pattern, re.compile(rf"^{what} (\w+)\(", re.MULTILINE)))


def _definitions(folder: Path, pattern: str, statement: re.Pattern[str]) -> Iterator[tuple[str, Path]]:
    for file in sorted(folder.glob(pattern)):
        for found in statement.finditer(text_of(file)):
            yield found[1], file
