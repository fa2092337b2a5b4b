"""The modules that a program lacks, all in one line: Python itself names the first."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

from graphdoctor.breaks.missing_packages import remedy_of_missing
from graphdoctor.dynamic.user_code.missing_modules import missing_modules
from graphdoctor.recorder.settings import MISSING
from graphdoctor.source.files import is_file
from graphdoctor.source.module_files import module_file


def lacking(folder: Path) -> str:
    """What the program recorded in ``folder`` lacks, and what to install; empty where no import ended it."""
    for note in sorted(folder.glob(MISSING.format("*"))):
        with suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads(note.read_text(encoding="utf-8"))
            name, file, searched = said["name"], Path(said["file"]), said["path"]
            if file.suffix != ".py" or not is_file(file):
                continue
            if not name:
                return _of_package(file)
            searched = [str(place) for place in searched]
            top, _, inside = str(name).partition(".")
            taken = _found(top, searched) if inside else ""
            names = list(dict.fromkeys([str(name) if taken else top, *_missing(file, searched)]))
            return f"missing: {_shown(names)}; {'; '.join(_remedies(names, searched, taken))}"
    return ""


def _of_package(file: Path) -> str:
    """How a file with relative imports is run, which knows no package where it is run by its path."""
    names, folder = [file.parent.name, file.stem], file.parent.parent
    while is_file(folder / "__init__.py"):
        names, folder = [folder.name, *names], folder.parent
    there = "" if folder == Path.cwd() else f" in {folder}"
    return f"{file.name} imports from its own package: run it as `graphdoctor run -m {'.'.join(names)}`{there}"


def _remedies(names: Sequence[str], searched: Sequence[str], taken: str) -> Iterator[str]:
    """What to do about the missing modules ``names``. A script in a subfolder does not search the working folder.

    The first is missing in its package, which Python found at ``taken``, unless that is empty.
    """
    if taken:
        first, *names = names
        yield f"'{first}' is not in {taken}, which Python found for `{first.partition('.')[0]}`"
    passed_over = os.getcwd() not in map(os.path.realpath, searched)
    here = [name for name in names if passed_over and _is_in(name, Path.cwd())]
    if here:
        yield f"{_shown(here)} {'is' if len(here) == 1 else 'are'} in the working folder: set PYTHONPATH=."
    if others := [name for name in names if name not in here]:
        yield remedy_of_missing(f"ModuleNotFoundError: No module named {_shown(others)}")


def _found(top: str, searched: Sequence[str]) -> str:
    """Where Python finds the top-level module ``top``; empty where it does not. Nothing is imported."""
    spec = PathFinder.find_spec(top, searched)
    places = (*(spec.submodule_search_locations or ()), spec.origin) if spec is not None else ()
    return next(filter(None, places), "")


def _is_in(name: str, folder: Path) -> bool:
    """Whether ``folder`` holds the module ``name``, or a folder with this name and code in it."""
    return module_file(name, folder) is not None or any((folder / name).glob("*.py"))


def _shown(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _missing(file: Path, searched: Sequence[str]) -> tuple[str, ...]:
    """The missing modules of ``file``, looked for where the program did. Nothing is imported."""
    here = list(sys.path)
    sys.path[:] = searched
    try:
        return missing_modules(file)
    finally:
        sys.path[:] = here
