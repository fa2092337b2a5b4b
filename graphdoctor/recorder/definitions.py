"""A module of what a script imports and defines, without the rest of it being executed."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

_KINDS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

#: What is done to the tree of a script, by its path, before it is executed. A script is imported by no loader, where
#: code that watches it could come in.
changes: list[Callable[[ast.Module, str], ast.Module]] = []


def definitions(script: Path, name: str) -> ModuleType:
    """The module, called ``name`` or as the file is."""
    # What is verified is a changed text, which is in linecache and not in the file.
    tree = ast.parse("".join(linecache.getlines(str(script))), str(script))
    tree.body = [statement for statement in tree.body if isinstance(statement, _KINDS)]
    for change in changes:
        tree = change(tree, str(script))
    module = ModuleType(name or script.stem)
    module.__file__ = str(script)
    module.__package__ = name.rpartition(".")[0]
    if module.__name__ not in sys.modules:
        sys.modules[module.__name__] = module
    exec(compile(ast.fix_missing_locations(tree), str(script), "exec", dont_inherit=True), vars(module))
    return module
