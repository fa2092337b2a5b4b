"""Where Python finds the modules of a project, whose folders often have no ``__init__.py``, and their names."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

from graphdoctor.source.files import is_file

#: Files and folders by which the top of a project is recognised.
_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
#: Packages that the rules know by name, also for a script in the repository of one of them.
_KNOWN = frozenset((
    "accelerate", "deepspeed", "diffusers", "lightning", "lightning_fabric", "numpy", "pytorch_lightning", "torch",
    "torchao", "torchaudio", "torchvision", "transformers",
))  # fmt: skip
#: The module of an import statement, with the dots of a relative one.
_IMPORTED = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\.*[\w.]*)", re.MULTILINE)
_RELATIVE = re.compile(r"^[ \t]*(?:from|import)[ \t]+\.", re.MULTILINE)


def imported_names(text: str) -> set[str]:
    """The modules that the import statements of a source text name, as they are written."""
    return set(_IMPORTED.findall(text))


def is_script(text: str, file: Path) -> bool:
    """Whether ``file``, with the source ``text``, is run by itself although an ``__init__.py`` lies beside it.

    It imports what lies beside it, as ``python file`` finds it, and nothing of the package that the folder would be.
    """
    # Most files of a package begin with a relative import, which is found at once.
    if _RELATIVE.search(text) is not None or not is_file(file.parent / "__init__.py"):
        return False
    names = imported_names(text)
    root, beside = package_of(file)[1], False
    for name in names:
        if not name or name.partition(".")[0] in sys.stdlib_module_names:
            continue
        if _is_there(name, file.parent):
            beside = True
        elif _is_there(name, root):
            return False
    return beside


def _is_there(name: str, root: Path) -> bool:
    return module_file(name, root) is not None or root.joinpath(*name.split(".")).is_dir()


def project_home(folder: Path) -> Path | None:
    """The top of the project that ``folder`` lies in; None where nothing marks one."""
    return next((outer for outer in (folder, *folder.parents) if any((outer / m).exists() for m in _MARKERS)), None)


def import_roots(folder: Path, top: str, home: Path | None) -> tuple[Path, ...]:
    """The folders besides ``folder`` where a module in it finds the package ``top`` of its own project.

    One that holds a folder ``top`` around it, for packages without ``__init__.py``; the top of the project and its
    ``src``, from where scripts in other folders are run. None for modules of Python itself, nor for packages that the
    rules know.
    """
    if not top or top in sys.stdlib_module_names or top in _KNOWN:
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


def is_extension(name: str, folder: Path) -> bool:
    """Whether ``folder`` holds the extension module ``name``: built, or as Cython's source."""
    return any(file.suffix in (".so", ".pyd", ".pyx") for file in folder.glob(f"{name}.*"))


def is_called_extension(name: str) -> bool:
    """Whether a module is called as extensions of torch are by custom: ``_C``, ``selective_scan_cuda``, ``dcn_ext``."""
    words = name.split("_")
    return name == "_C" or (len(words) > 1 and ("cuda" in words or words[-1] == "ext"))


#: An extension module that a ``setup.py`` builds: ``CUDAExtension("DCNv3", ...)``, ``extension(name="DCNv3", ...)``.
_DECLARED = re.compile(r"extension\(\s*(?:name\s*=\s*)?[\"']([\w.]+)[\"']", re.IGNORECASE)


def declared_extensions(home: Path) -> frozenset[str]:
    """The extension modules that the ``setup.py`` at the top of a project builds, as far as it names them."""
    setup, text = home / "setup.py", ""
    with suppress(OSError):
        text = setup.read_text(encoding="utf-8", errors="replace") if is_file(setup) else ""
    return frozenset(_DECLARED.findall(text))


class Layout:
    """Where packages of projects may be, looked for once."""

    def __init__(self) -> None:
        self._homes: dict[Path, Path | None] = {}
        self._roots: dict[tuple[Path, str], tuple[Path, ...]] = {}
        self._installed: dict[Path, bool] = {}
        self._built: dict[Path, frozenset[str]] = {}
        self._extensions: dict[tuple[str, Path], bool] = {}

    def _home(self, folder: Path) -> Path | None:
        if folder not in self._homes:
            self._homes[folder] = project_home(folder)
        return self._homes[folder]

    def roots(self, folder: Path, top: str) -> tuple[Path, ...]:
        """Where else than in ``folder`` the package ``top`` of its project may be."""
        if (folder, top) not in self._roots:
            self._roots[folder, top] = import_roots(folder, top, self._home(folder))
        return self._roots[folder, top]

    def builds_extension(self, folder: Path, name: str) -> bool:
        """Whether the project of ``folder`` builds the extension module ``name``."""
        home = self._home(folder)
        if home is None:
            return False
        if home not in self._built:
            self._built[home] = declared_extensions(home)
        return name in self._built[home]

    def is_installed(self, folder: Path) -> bool:
        """Whether installed packages lie in ``folder``."""
        if folder not in self._installed:
            self._installed[folder] = is_installed(folder)
        return self._installed[folder]

    def is_extension(self, name: str, folder: Path) -> bool:
        """Whether ``folder`` holds the extension module ``name``."""
        if (name, folder) not in self._extensions:
            self._extensions[name, folder] = is_extension(name, folder)
        return self._extensions[name, folder]
