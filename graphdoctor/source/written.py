"""A file as it is written: libcst's own tree, with comments and whitespace, for what is changed or quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from graphdoctor.model import Location
from graphdoctor.source.walk import fields

if TYPE_CHECKING:
    from graphdoctor.source.module import SourceModule


class Written:
    """The tree of libcst's parser, made when it is asked for, beside the one that the analysis read.

    Raises ``libcst.ParserSyntaxError`` where libcst rejects what Python accepts.
    """

    def __init__(self, read: SourceModule) -> None:
        self._read = read
        self.path = read.path
        self.text = read.text
        self.lines = read.lines

    @cached_property
    def tree(self) -> cst.Module:
        """The module with everything that the file holds."""
        return cst.parse_module(self.text)

    @cached_property
    def _pairs(self) -> tuple[dict[int, cst.CSTNode], dict[int, cst.CSTNode]]:
        """By the ids of nodes that the analysis read those of ``tree``, and the other way round."""
        found: dict[int, cst.CSTNode] = {}
        back: dict[int, cst.CSTNode] = {}
        for read, written in pairs(self._read.tree, self.tree):
            found[id(read)] = written
            back[id(written)] = read
        return found, back

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        # A tree fresh from the parser has no shared nodes, so the copy that MetadataWrapper makes is not needed.
        return MetadataWrapper(self.tree, unsafe_skip_copy=True).resolve(PositionProvider)

    def of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node of ``tree`` that stands where ``node`` does. Raises KeyError where it was no node of this file."""
        found, back = self._pairs
        return node if id(node) in back or node is self.tree else found[id(node)]

    def location(self, node: cst.CSTNode) -> Location:
        """Where ``node``, one of ``tree``, stands, without surrounding whitespace."""
        read = self._pairs[1].get(id(node))
        if read is not None and self._read.has_place(read):
            return self._read.location(read)
        span = self._positions[node]
        return Location(self.path, span.start.line, span.start.column + 1, span.end.line, span.end.column + 1)

    def code(self, node: cst.CSTNode) -> str:
        """The text of ``node`` as it stands in the file."""
        return self.tree.code_for_node(node)


def pairs(read: cst.CSTNode, written: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Nodes of two trees of one file that stand at the same place; where the trees part, nothing below."""
    stack = [(read, written)]
    while stack:
        one, other = stack.pop()
        yield one, other
        if type(one) is not type(other):
            continue
        for name in fields(type(one)):
            mine, theirs = getattr(one, name), getattr(other, name)
            if isinstance(mine, cst.CSTNode):
                if isinstance(theirs, cst.CSTNode):
                    stack.append((mine, theirs))
            elif isinstance(mine, (list, tuple)) and len(mine) == len(theirs):
                stack.extend((m, t) for m, t in zip(mine, theirs, strict=True) if isinstance(m, cst.CSTNode))
