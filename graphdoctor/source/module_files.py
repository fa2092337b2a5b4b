"""Where Python finds the modules of a project, whose folders often have no ``__init__.py``, and their names."""

from __future__ import annotations

import sys
from pathlib import Path

from graphdoctor.source.files import is_file

#: What stands at the top of a project.
_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


def project_home(folder: Path) -> Path | None:
    """The top of the project that ``folder`` lies in; None where nothing marks one."""
    return next((outer for outer in (folder, *folder.parents) if any((outer / m).exists() for m in _MARKERS)), None)


def import_roots(folder: Path, top: str, home: Path | None) -> tuple[Path, ...]:
    """The folders besides ``folder`` where a module in it finds the package ``top`` of its own project.

    One that holds a folder ``top`` around it, for packages without ``__init__.py``; the top of the project and its
    ``src``, from where scripts in other folders are run. None for modules of Python itself.
    """
    if not top or top in sys.stdlib_module_names:
        return ()
    around = [outer.parent for outer in (folder, *folder.parents) if outer.name == top]
    found = [*around, *((home, home / "src") if home is not None else ())]
    return tuple(root for root in dict.fromkeys(found) if root != folder)


def is_installed(folder: Path) -> bool:
    """Whether ``folder`` holds installed packages: those beside a package are other people's."""
    return folder.name in ("site-packages", "dist-packages") or any(folder.glob("*.dist-info"))


def package_of(file: Path) -> tuple[str, Path]:
    """The dotted name of ``file`` as a module and the folder its top-level package lies in, by ``__init__.py``."""
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while is_file(folder / "__init__.py"):
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def candidates(name: str, root: Path) -> tuple[Path, Path]:
    """The files that the module ``name`` below ``root`` may be, in the order in which Python looks for them."""
    base = root.joinpath(*name.split("."))
    return base / "__init__.py", base.with_suffix(".py")


def module_file(name: str, root: Path) -> Path | None:
    """The file of the module ``name`` below ``root``."""
    return next((file for file in candidates(name, root) if is_file(file)), None)
