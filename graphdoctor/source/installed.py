"""Where packages are installed, found by looking at folders: no interpreter is started and nothing is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from graphdoctor.source.files import is_file, read_bytes


class PackageNotFound(Exception):
    """An environment or a package that does not exist; the text is one line for the user."""


def site_folders(python: str | None, project: Path) -> tuple[Path, ...]:
    """The folders with the packages that the code in ``project`` sees.

    Of the interpreter or virtual environment ``python`` when it is given; else of VIRTUAL_ENV, of a virtual environment
    ``.venv`` or ``venv`` at or above ``project``, and of the interpreter that runs graphdoctor, in this order. Raises
    PackageNotFound when ``python`` has none.
    """
    if python is not None:
        found = tuple(_expanded(_of_prefix(_prefix(python)))) if os.path.exists(python) else ()
        if not found:
            raise PackageNotFound(f"--python {python}: no site-packages found there; give an interpreter or its folder")
        return found
    prefixes = [Path(os.environ["VIRTUAL_ENV"])] if os.environ.get("VIRTUAL_ENV") else []
    prefixes += [
        folder / name
        for folder in (project, *project.parents)
        for name in (".venv", "venv")
        if is_file(folder / name / "pyvenv.cfg")
    ]
    folders = [site for prefix in prefixes for site in _of_prefix(prefix)]
    folders += [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    return tuple(dict.fromkeys(_expanded(folders)))


def find_package(name: str, folders: Sequence[Path]) -> Path:
    """The folder that holds the package or module ``name``. Raises PackageNotFound."""
    for folder in folders:
        # A folder without __init__.py is a namespace package, or only data: it counts when it has Python files.
        package = folder / name
        if is_file(package / "__init__.py") or is_file(package.with_suffix(".py")) or any(package.glob("**/*.py")):
            return folder
    raise PackageNotFound(name)


class Installed(Mapping[str, Path]):
    """The folder that holds each package installed in ``folders`` but ``besides``, looked for when it is asked for.

    What a folder in ``own`` has comes before what is installed. Iterated are the packages that were found so far.
    """

    def __init__(self, folders: Sequence[Path], besides: Sequence[str], own: Sequence[Path]) -> None:
        self._folders, self._own = folders, own
        self._found: dict[str, Path | None] = dict.fromkeys((*besides, *sys.stdlib_module_names))

    def __getitem__(self, name: str) -> Path:
        if name not in self._found:
            here = any(_holds(folder, name) for folder in self._own)
            found = (folder.resolve() for folder in self._folders if _holds(folder, name))
            self._found[name] = None if here else next(found, None)
        folder = self._found[name]
        if folder is None:
            raise KeyError(name)
        return folder

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, folder in self._found.items() if folder is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))


def _holds(folder: Path, name: str) -> bool:
    return is_file(folder / name / "__init__.py") or is_file(folder / f"{name}.py")


def installed_names(folders: Sequence[Path]) -> list[str]:
    """The importable names at the top of ``folders``."""
    names = {entry.stem for folder in folders if folder.is_dir() for entry in folder.iterdir()}
    return sorted(name for name in names if name.isidentifier())


def _prefix(python: str) -> Path:
    """The folder of the environment that ``python``, an interpreter or this folder itself, belongs to."""
    path = Path(os.path.abspath(os.path.expanduser(python)))
    # Links are kept: the python of a virtual environment is a link to another one's.
    return path if path.is_dir() else path.parent.parent


def _of_prefix(prefix: Path) -> Iterator[Path]:
    for pattern in ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages"):
        yield from sorted(prefix.glob(pattern), reverse=True)
    if (prefix / "Lib" / "site-packages").is_dir():
        yield prefix / "Lib" / "site-packages"


def _expanded(folders: Sequence[Path] | Iterator[Path]) -> Iterator[Path]:
    """``folders`` and those that their .pth files add, as editable installs do."""
    for folder in folders:
        yield folder
        for file in sorted(folder.glob("*.pth")):
            for line in _lines(file):
                added = folder / line.strip()
                if line.strip() and not line.startswith(("import ", "import\t", "#")) and added.is_dir():
                    yield added


def _lines(file: Path) -> list[str]:
    try:
        return read_bytes(file).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
