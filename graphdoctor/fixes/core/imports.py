"""Where a file imports, and imports of the standard library that a rewrite needs."""

from __future__ import annotations

import sys

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import assignments, names
from graphdoctor.fixes.core.torch_name import source
from graphdoctor.model.findings import Edit
from graphdoctor.syntax.walk import walk


def import_edit(module: str, editor: Editor) -> tuple[Edit, ...]:
    """The edit that makes the name ``module`` usable, none when it is. Refuses when the name is something else.

    It goes where it sorts among the imports of the standard library: ``import x`` before ``from x import y``.
    """
    tree = editor.module.tree
    lines = [line for line in tree.body if isinstance(line, cst.SimpleStatementLine)]
    every = [small for line in lines for small in line.body]
    if any(isinstance(s, cst.Import) and any(_is_plain(alias, module) for alias in s.names) for s in every):
        return ()
    if editor.mentions_anywhere(module) and _is_taken(module, tree):
        raise Refuse(f"the name {module} stands for something else in this file")
    imports = [line for line in lines if _source(line) not in ("", "__future__")]
    if not imports:
        raise Refuse("the file has no import at its top")
    standard = [line for line in imports if _source(line).partition(".")[0] in sys.stdlib_module_names]
    plain = [line for line in standard if isinstance(line.body[0], cst.Import)]
    smaller = [line for line in plain if _source(line) < module]
    if smaller:
        number = editor.location(smaller[-1]).end_line + 1
    else:
        number = editor.location((plain or standard or imports)[0]).line
    # Without others of its kind it is a group of its own.
    blank = "" if standard else editor.newline
    return (Edit(editor.path, (number, 1), (number, 1), f"import {module}{editor.newline}{blank}"),)


def last_import(tree: cst.Module) -> cst.CSTNode | None:
    """The last import above the first function, class or block, if there is a line behind it."""
    last: cst.CSTNode | None = None
    for statement in tree.body:
        if not isinstance(statement, cst.SimpleStatementLine):
            return last
        if any(isinstance(small, (cst.Import, cst.ImportFrom)) for small in statement.body):
            last = statement
    return last


def _is_taken(module: str, tree: cst.Module) -> bool:
    """True when something in the file assigns the name ``module``, takes it as an argument or imports it."""
    if assignments(tree, module) or any(isinstance(n, cst.Param) and n.name.value == module for n in walk(tree)):
        return True
    return any(isinstance(n, (cst.Import, cst.ImportFrom)) and module in _bound(n) for n in walk(tree))


def _bound(node: cst.Import | cst.ImportFrom) -> set[str]:
    """The names that an import binds: not ``math`` in ``from math import sqrt``."""
    if isinstance(node.names, cst.ImportStar):
        return set()
    return {name for alias in node.names for name in names(alias.asname or alias)}


def _source(line: cst.SimpleStatementLine) -> str:
    """The dotted module of the first import in ``line``; dots for one of its own package; empty otherwise."""
    first = line.body[0]
    return source(first) if isinstance(first, (cst.Import, cst.ImportFrom)) else ""


def _is_plain(alias: cst.ImportAlias, module: str) -> bool:
    return alias.asname is None and isinstance(alias.name, cst.Name) and alias.name.value == module
