"""A fast walk over libcst trees: 60 % of the nodes are whitespace and punctuation, which no analysis looks at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any

import libcst as cst

#: Fields, by how their names begin, that hold only whitespace and punctuation.
_SKIPPED = (
    "whitespace", "lpar", "rpar", "comma", "semicolon", "leading_lines", "lines_after", "lines_before", "header",
    "footer", "trailing", "indent", "equal", "dot", "lbracket", "rbracket", "lbrace", "rbrace", "colon",
    "default_indent", "default_newline", "has_trailing", "first_line", "asynchronous_whitespace",
)  # fmt: skip

#: Fields that stand first in the source but not in the class.
_FIRST: dict[type, tuple[str, ...]] = {
    cst.FunctionDef: ("decorators", "asynchronous"), cst.ClassDef: ("decorators", "name", "bases", "keywords"),
    cst.IfExp: ("body", "test"), cst.Arg: ("keyword",), cst.ExceptHandler: ("type", "name"),
    cst.ExceptStarHandler: ("type", "name"), cst.CompFor: ("asynchronous",), cst.For: ("asynchronous",),
    cst.With: ("asynchronous",), cst.Parameters: ("posonly_params", "posonly_ind"), cst.MatchCase: ("pattern", "guard"),
}  # fmt: skip


@cache
def fields(kind: type) -> tuple[str, ...]:
    """The fields of a class of nodes that carry meaning, in source order."""
    names = [f.name for f in dataclasses.fields(kind) if not f.name.startswith(_SKIPPED)]
    first = _FIRST.get(kind, ())
    return (*first, *(name for name in names if name not in first))


class _Nodes(dict[type, bool]):
    """Whether a class is one of nodes. They are abstract base classes, of which ``isinstance`` is slow."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = issubclass(kind, cst.CSTNode)
        return self[kind]


_IS_NODE = _Nodes()


@cache
def _below(kind: type) -> Callable[[cst.CSTNode], tuple[Any, ...]]:
    """What gives the values of the fields of a node in which others may stand."""
    names = [f.name for f in dataclasses.fields(kind) if f.type in (str, "str")]
    names = [name for name in fields(kind) if name not in names]
    if not names:
        return lambda _node: ()
    # With one name only, attrgetter gives no tuple.
    return (lambda node: (getattr(node, names[0]),)) if len(names) == 1 else attrgetter(*names)


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes right below ``node`` that carry meaning, in source order."""
    found = []
    for value in _below(type(node))(node):
        kind = type(value)
        if kind is list or kind is tuple:
            found += [item for item in value if _IS_NODE[type(item)]]
        elif _IS_NODE[kind]:
            found.append(value)
    return found


def walk(node: cst.CSTNode, stop: tuple[type, ...] = ()) -> Iterator[cst.CSTNode]:
    """``node`` and all below it that carries meaning, in source order; nothing below nodes of a class in ``stop``."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if current is node or type(current) not in stop:
            stack += reversed(children(current))
