"""Imports of modules of the standard library that a rewrite needs."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.editor import Editor, walk
from graphdoctor.fixes.errors import Refuse
from graphdoctor.fixes.scope import assignments, names
from graphdoctor.model import Edit


def import_edit(module: str, editor: Editor, near: cst.CSTNode) -> tuple[Edit, ...]:
    """The edit that makes the name ``module`` usable, none when it is. Refuses when the name is something else."""
    tree = editor.module.tree
    first: cst.CSTNode | None = None
    for statement in tree.body:
        if not isinstance(statement, cst.SimpleStatementLine):
            continue
        for small in statement.body:
            if isinstance(small, cst.Import) and any(_is_plain(alias, module) for alias in small.names):
                return ()
            is_future = isinstance(small, cst.ImportFrom) and small.module is not None and _is_future(small.module)
            if first is None and isinstance(small, (cst.Import, cst.ImportFrom)) and not is_future:
                first = statement
    taken = assignments(tree, module) or any(isinstance(n, cst.Param) and n.name.value == module for n in walk(tree))
    if taken or any(isinstance(n, (cst.Import, cst.ImportFrom)) and module in names(n) for n in walk(tree)):
        raise Refuse(f"the name {module} stands for something else in this file")
    if first is None:
        raise Refuse("the file has no import at its top")
    line = editor.location(first).line
    return (Edit(editor.path, (line, 1), (line, 1), f"import {module}{editor.newline}"),)


def _is_plain(alias: cst.ImportAlias, module: str) -> bool:
    return alias.asname is None and isinstance(alias.name, cst.Name) and alias.name.value == module


def _is_future(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "__future__"
