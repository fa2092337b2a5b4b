"""Output that is written once, since a flag says that it was: where compiled code leaves it out, it is not written
later either.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.syntax.walk import find, walk

#: Methods that note something in a set, list or dict.
_NOTES = ("add", "append", "setdefault", "update")


def is_given_once(statement: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``statement`` stands in, or after, an ``if`` that asks for what the function notes beside it.

    So ``if key not in seen: seen.add(key); print(key)``, and ``if self.warned: return`` before ``self.warned = True``.
    """
    function = editor.function_of(statement)
    if function is None:
        return False
    asked = {text for node in find(function.body, cst.If) for text in _read(node.test, editor)}
    around = [node for node in editor.ancestors(statement) if isinstance(node, cst.If)]
    noted = {text for node in around for text in _noted(node.body, editor)}
    return bool(asked & (noted | set(_flags(function.body, editor))))


def _read(test: cst.BaseExpression, editor: Editor) -> Iterator[str]:
    for node in walk(test):
        if isinstance(node, (cst.Name, cst.Attribute)):
            yield editor.code(node)


def _flags(body: cst.BaseSuite, editor: Editor) -> Iterator[str]:
    """What is set to True or False, other than a local name."""
    declared = {item.name.value for node in find(body, cst.Global) for item in node.names}
    for node in find(body, cst.Assign):
        if isinstance(node.value, cst.Name) and node.value.value in ("True", "False"):
            for target in (each.target for each in node.targets):
                if isinstance(target, cst.Attribute) or (isinstance(target, cst.Name) and target.value in declared):
                    yield editor.code(target)


def _noted(body: cst.BaseSuite, editor: Editor) -> Iterator[str]:
    """The containers that get an entry."""
    for node in find(body, cst.Call):
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _NOTES:
            yield editor.code(node.func.value)
    for target in (each.target for each in find(body, cst.AssignTarget)):
        if isinstance(target, cst.Subscript):
            yield editor.code(target.value)
