"""The global names that are rebound after the import of their module, so that compiled functions read varying
values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import find, walk

#: A ``global`` statement in one line; prose that begins with the word has more words after it.
_GLOBAL = re.compile(r"^\s*global\b\s*(\\|\w+\s*([,;#\\].*)?)$|[;:]\s*global\s", re.MULTILINE)

#: Nodes that bind their target; ``isinstance`` of nodes, which are abstract base classes, is slow.
_BINDING = frozenset((cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr))


def rebound_names(source: SourceModule) -> frozenset[str]:
    """Names that a function declares ``global``, and those that a loop at module level assigns."""
    found: set[str] = set()
    for statement in source.top.body:
        if isinstance(statement, (cst.For, cst.While)):
            found |= assigned_names(statement)
    if "global " in source.text and _GLOBAL.search(source.text):
        declared = {item.name.value for node in find(source.tree, cst.Global) for item in node.names}
        found |= {name for name in declared if not _is_set_once(source, name)}
    return frozenset(found)


def _is_set_once(source: SourceModule, name: str) -> bool:
    """Whether ``name`` is assigned once; where a function does it, the same value in each call.

    So ``main`` sets up values that other functions of a script read, or declares a name global that it only reads.
    """
    nodes: Iterator[Any] = (node for node in walk(source.tree) if type(node) in _BINDING)
    bound = [node for node in nodes if _names(node.target, name)]
    if len(bound) != 1:
        return False
    functions = [f for f in find(source.tree, cst.FunctionDef) if any(node is bound[0] for node in walk(f.body))]
    for function in functions:
        for node in walk(function.body, stop=(cst.For, cst.While, cst.FunctionDef, cst.Lambda)):
            if isinstance(node, cst.Assign) and bound[0] in node.targets:
                given = [param.name.value for param in find(function.params, cst.Param)]
                return not any(_names(node.value, each) for each in (name, *given))
    return not functions


def _names(node: cst.CSTNode, name: str) -> bool:
    return any(found.value == name for found in find(node, cst.Name))


def assigned_names(loop: cst.For | cst.While) -> set[str]:
    """Names that are bound in a loop, its targets included."""
    targets: list[cst.CSTNode] = [loop.target] if isinstance(loop, cst.For) else []
    for node in walk(loop.body, stop=(cst.FunctionDef, cst.ClassDef)):
        if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For)):
            targets.append(node.target)
    names = (n for target in targets if not isinstance(target, (cst.Attribute, cst.Subscript)) for n in walk(target))
    return {name.value for name in names if isinstance(name, cst.Name)}
