"""Import the user's file under its real module name, with its package, never as ``__main__``; overlay sources."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import linecache
import os
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from graphdoctor.breaks.locations import Project, project_of
from graphdoctor.recorder import definitions
from graphdoctor.source.files import is_notebook, read
from graphdoctor.source.module_files import is_script, project_home


def load(file: Path) -> ModuleType:
    """Import ``file`` as ``python file`` or ``python -m package.module`` would find it, also below the project's top.

    Raises what the file raises.
    """
    if is_notebook(file) and os.path.realpath(file) not in linecache.cache:
        # The module that its cells make; of a changed copy the overlay has it.
        install_overlay({os.path.realpath(file): read(file)[0]})
    project = _relative_root(file, project_of(file))
    sys.path.insert(0, str(project.root))
    if file.parent != project.root:
        # Neighbours that are imported by their bare name, after everything that is installed.
        sys.path.append(str(file.parent))
    home = project_home(file.parent)
    if home is not None:
        # Where a script in another folder of the project is run from, or what installing the project adds.
        sys.path += [str(home), str(home / "src")]
    if project.package:
        importlib.import_module(project.package)
        if project.module in sys.modules:
            return sys.modules[project.module]
    name = project.module
    if not project.package and (name in sys.modules or name in sys.stdlib_module_names):
        # A file called types.py or torch.py must not take the place of the real one.
        name = f"graphdoctor_target_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file, loader=SourceFileLoader(name, str(file)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if is_notebook(file):
        # IPython has it in every notebook.
        vars(module)["display"] = print
    spec.loader.exec_module(module)
    return module


def _watched(text: str, path: str) -> CodeType:
    """The code of ``text`` with what watches the tests of imported files: no loader has read this text for it."""
    tree = ast.parse(text, path)
    for change in definitions.changes:
        tree = change(tree, path)
    code: CodeType = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    return code


def load_text(text: str, file: Path) -> ModuleType:
    """The module that ``text`` makes, which may import ``file`` by its name. Raises what the text raises."""
    root = str(project_of(file).root)
    if root not in sys.path:
        sys.path.insert(0, root)
    module = ModuleType("graphdoctor_named_target")
    sys.modules[module.__name__] = module
    _prime("<graphdoctor target>", text)
    exec(compile(text, "<graphdoctor target>", "exec", dont_inherit=True), vars(module))
    return module


def _relative_root(file: Path, project: Project) -> Project:
    """Where the file is imported from: its folder where it is run by itself; one level up when a file outside a regular
    package uses relative imports, for its folder is a namespace package.
    """
    if project.package and is_script(read(file)[0], file):
        return Project(file.stem, file.parent)
    if project.package or not file.parent.name.isidentifier() or not _imports_relatively(file):
        return project
    return Project(f"{file.parent.name}.{project.module}", file.parent.parent)


def _imports_relatively(file: Path) -> bool:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in tree.body)


def install_overlay(overlay: Mapping[str, str]) -> None:
    """From now on, imports of these absolute paths run the given texts; the files are neither read nor written.

    The loader class is patched because a finder would miss ``spec_from_file_location``. Paths, names and line numbers
    stay those of the file, and ``inspect.getsource`` (through linecache) sees the new text. No .pyc is involved.
    """
    if not overlay:
        return
    texts = {os.path.realpath(path): text for path, text in overlay.items()}
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        text = texts.get(os.path.realpath(path))
        if text is None:
            return original(self, fullname)
        _prime(path, text)
        if definitions.changes:
            return _watched(text, path)
        code: CodeType = compile(text, path, "exec", dont_inherit=True)
        return code

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    for path, text in overlay.items():
        _prime(path, text)


def _prime(path: str, text: str) -> None:
    # An entry without a time stamp is kept by linecache.checkcache().
    entry: Any = (len(text), None, text.splitlines(keepends=True), path)
    linecache.cache[path] = entry


def source_of(path: str) -> str:
    """The text of ``path`` as Python runs it, overlay included; empty when there is none."""
    return "".join(linecache.getlines(path))
