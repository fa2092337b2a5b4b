"""A fast walk over libcst trees: 60 % of the nodes are whitespace and punctuation, which no analysis looks at."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import libcst as cst

_Kind = TypeVar("_Kind", bound=cst.CSTNode)

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


class _Below(dict[type, Callable[[cst.CSTNode], tuple[Any, ...]] | None]):
    """What gives the values of the fields of a node in which others may stand; None for names and other leaves."""

    def __missing__(self, kind: type) -> Callable[[cst.CSTNode], tuple[Any, ...]] | None:
        texts = [f.name for f in dataclasses.fields(kind) if f.type in (str, "str")]
        names = [name for name in fields(kind) if name not in texts]
        # With one name only, attrgetter gives no tuple. ``__doc__`` is a text, and no node stands in it.
        self[kind] = attrgetter(*names, *(("__doc__",) if len(names) == 1 else ())) if names else None
        return self[kind]


_BELOW = _Below()


def parts(node: cst.CSTNode) -> tuple[Any, ...]:
    """What the fields of ``node`` hold in which other nodes may stand, in source order."""
    below = _BELOW[type(node)]
    return () if below is None else below(node)


def is_node(value: object) -> bool:
    """Whether ``value`` is a node."""
    return _IS_NODE[type(value)]


def children(node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """The nodes right below ``node`` that carry meaning, in source order."""
    below = _BELOW[type(node)]
    if below is None:
        return ()
    found = []
    for value in below(node):
        kind = type(value)
        if kind is list or kind is tuple:
            found += value
        elif _IS_NODE[kind]:
            found.append(value)
    return found


def walk(node: cst.CSTNode, stop: tuple[type, ...] = ()) -> Iterator[cst.CSTNode]:
    """``node`` and all below it that carries meaning, in source order; nothing below nodes of a class in ``stop``."""
    stack = [node]
    push = stack.append
    while stack:
        current = stack.pop()
        yield current
        kind = type(current)
        below = _BELOW[kind]
        if below is None or (kind in stop and current is not node):
            continue
        # What ``children`` gives, from the last to the first: to call it takes half as long again.
        for value in reversed(below(current)):
            kind = type(value)
            if kind is list or kind is tuple:
                stack += value[::-1]
            elif _IS_NODE[kind]:
                push(value)


def find(node: cst.CSTNode, kind: type[_Kind]) -> list[_Kind]:
    """The nodes of the class ``kind``, not of a subclass, among ``node`` and all below it, in source order.

    ``isinstance`` of nodes, which are abstract base classes, is slow, and so is ``walk``, which hands over each node.
    """
    found: list[Any] = []
    stack = [node]
    while stack:
        current = stack.pop()
        here = type(current)
        if here is kind:
            found.append(current)
        below = _BELOW[here]
        for value in () if below is None else reversed(below(current)):
            here = type(value)
            if here is list or here is tuple:
                stack += value[::-1]
            elif _IS_NODE[here]:
                stack.append(value)
    return found


def by_class(node: cst.CSTNode) -> dict[type[cst.CSTNode], list[cst.CSTNode]]:
    """``node`` and all below it that carries meaning by their classes, each in source order.

    A loop of its own, for the reason that ``find`` gives.
    """
    found: defaultdict[type[cst.CSTNode], list[cst.CSTNode]] = defaultdict(list)
    stack = [node]
    while stack:
        current = stack.pop()
        here: type = type(current)
        found[here].append(current)
        below = _BELOW[here]
        for value in () if below is None else reversed(below(current)):
            here = type(value)
            if here is list or here is tuple:
                stack += value[::-1]
            elif _IS_NODE[here]:
                stack.append(value)
    return dict(found)
