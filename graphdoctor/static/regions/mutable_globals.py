"""Which names of a module are rebound after its import: what a compiled function reads of them varies."""

from __future__ import annotations

import re

import libcst as cst

from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import find, walk

#: A statement, judging by one line; prose that begins with the word has more words behind it.
_GLOBAL = re.compile(r"^\s*global\b\s*(\\|\w+\s*([,;#\\].*)?)$|[;:]\s*global\s", re.MULTILINE)


def rebound_names(source: SourceModule) -> frozenset[str]:
    """Names that a function declares ``global``, and those that a loop at module level assigns."""
    found: set[str] = set()
    for statement in source.top.body:
        if isinstance(statement, (cst.For, cst.While)):
            found |= assigned_names(statement)
    if "global " in source.text and _GLOBAL.search(source.text):
        found |= {item.name.value for node in find(source.tree, cst.Global) for item in node.names}
    return frozenset(found)


def assigned_names(loop: cst.For | cst.While) -> set[str]:
    """Names that are bound in a loop, its targets included."""
    targets: list[cst.CSTNode] = [loop.target] if isinstance(loop, cst.For) else []
    for node in walk(loop.body, stop=(cst.FunctionDef, cst.ClassDef)):
        if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For)):
            targets.append(node.target)
    names = (n for target in targets if not isinstance(target, (cst.Attribute, cst.Subscript)) for n in walk(target))
    return {name.value for name in names if isinstance(name, cst.Name)}
