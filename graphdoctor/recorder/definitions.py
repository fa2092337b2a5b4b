"""A module of what a script imports and defines, without the rest of it being executed."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType

_KINDS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

#: What is done to the tree of a script, by its path, before it is executed. A script is imported by no loader, where
#: code that watches it could come in.
changes: list[Callable[[ast.Module, str], ast.Module]] = []


class _Loader:
    """Gives all code of a script, as the loaders of imported modules do of theirs."""

    def __init__(self, script: Path) -> None:
        self._script = script

    def get_code(self, _name: str) -> CodeType:
        return _compiled(_tree(self._script), self._script)


def definitions(script: Path, name: str) -> ModuleType:
    """The module, called ``name`` or as the file is."""
    tree = _tree(script)
    of_torch = _names_of_torch(tree)
    tree.body = [each for each in tree.body if isinstance(each, _KINDS) or _is_setting(each, of_torch)]
    module = ModuleType(name or script.stem)
    module.__file__ = str(script)
    module.__package__ = name.rpartition(".")[0]
    module.__loader__ = _Loader(script)  # type: ignore[assignment]
    if module.__name__ not in sys.modules:
        sys.modules[module.__name__] = module
    exec(_compiled(tree, script), vars(module))
    return module


def _tree(script: Path) -> ast.Module:
    # What is verified is a changed text, which is in linecache and not in the file.
    return ast.parse("".join(linecache.getlines(str(script))), str(script))


def _compiled(tree: ast.Module, script: Path) -> CodeType:
    for change in changes:
        tree = change(tree, str(script))
    code: CodeType = compile(ast.fix_missing_locations(tree), str(script), "exec", dont_inherit=True)
    return code


def _names_of_torch(tree: ast.Module) -> frozenset[str]:
    """The names that the imports of a script give torch and what is in it."""
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            found = [each for each in statement.names if each.name.split(".")[0] == "torch"]
            names.update(each.asname or "torch" for each in found)
        elif isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "torch":
            names.update(each.asname or each.name for each in statement.names)
    return frozenset(names)


def _is_setting(statement: ast.stmt, of_torch: frozenset[str]) -> bool:
    """Whether it sets something of torch's to a constant, as in ``torch._dynamo.config.allow_rnn = True``.

    Such a setting decides what is compiled, and a fix may consist of one.
    """
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
        return False
    return all(isinstance(target, ast.Attribute) and _root(target) in of_torch for target in statement.targets)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
