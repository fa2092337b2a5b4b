"""A file as it is written: libcst's own nodes, with comments and whitespace, for what is changed or quoted.

Of the statements at the top level only those are parsed that something is asked of. The others stay as the analysis
read them, which says what they mean and where they stand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from graphdoctor.model import Location
from graphdoctor.source.text import LINE_END
from graphdoctor.source.walk import children, fields, walk

if TYPE_CHECKING:
    from graphdoctor.source.module import SourceModule


@dataclass(frozen=True)
class _Statement:
    """A statement at the top level that was parsed, and how many lines stand before it."""

    tree: cst.Module
    before: int

    @cached_property
    def positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        """Where its nodes stand, from its own first line."""
        # A tree fresh from the parser has no shared nodes, so the copy that MetadataWrapper makes is not needed.
        return MetadataWrapper(self.tree, unsafe_skip_copy=True).resolve(PositionProvider)


class Written:
    """The nodes of libcst's parser beside those that the analysis read.

    Raises ``libcst.ParserSyntaxError`` where libcst rejects what Python accepts.
    """

    def __init__(self, read: SourceModule) -> None:
        self._read = read
        self.path = read.path
        self.text = read.text
        self.lines = read.lines
        self._body: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = list(read.tree.body)
        self._parsed: dict[int, _Statement] = {}
        #: By the ids of nodes that the analysis read those that are written, and the other way round.
        self._written: dict[int, cst.CSTNode] = {}
        self._back: dict[int, cst.CSTNode] = {}
        #: By the id of a node the one above it.
        self._parents: dict[int, cst.CSTNode] = {}
        self._top = {id(statement) for statement in self._body}

    @property
    def tree(self) -> cst.Module:
        """The module: as it is written where that was asked for, else as it was read."""
        return cst.Module(self._body, default_indent=self.indent, default_newline=self.newline)

    @cached_property
    def newline(self) -> str:
        """The line end of the file."""
        first = LINE_END.search(self.text)
        return first.group() if first is not None else "\n"

    @cached_property
    def indent(self) -> str:
        """One level of indentation in the file."""
        for statement in self._read.tree.body:
            body = getattr(statement, "body", None)
            if isinstance(body, cst.IndentedBlock):
                first = self._read.location(body)
                return self.lines[first.line - 1][: first.column - 1]
        return "    "

    @cached_property
    def _ends(self) -> list[int]:
        """How far the text goes with each line."""
        return [*(end.end() for end in LINE_END.finditer(self.text)), len(self.text)]

    @cached_property
    def _starts(self) -> list[int]:
        return [min(_lines(self._read, statement)) for statement in self._read.tree.body]

    def of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The written node that stands where ``node`` does. Raises KeyError where there is none."""
        if id(node) in self._back or isinstance(node, cst.Module):
            return node
        self._parse(self._statement_of(node))
        return self._written[id(node)]

    def location(self, node: cst.CSTNode) -> Location:
        """Where ``node``, written or read, stands, without surrounding whitespace."""
        read = self._back.get(id(node), node)
        if self._read.has_place(read):
            return self._read.location(read)
        statement = next((parsed for parsed in self._parsed.values() if node in parsed.positions), None)
        if statement is None:
            return self.location(self.of(node))
        span, before = statement.positions[node], statement.before
        start, end = span.start, span.end
        return Location(self.path, start.line + before, start.column + 1, end.line + before, end.column + 1)

    def code(self, node: cst.CSTNode) -> str:
        """The text of ``node`` as it stands in the file."""
        return self.tree.code_for_node(self.of(node) if self._read.has_place(node) else node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds ``node``; None for the module."""
        if isinstance(node, cst.Module):
            return None
        if id(node) not in self._parents and id(node) not in self._top and self._read.has_place(node):
            self._index(self._body[self._statement_of(node)])
        if id(node) in self._top:
            return self.tree
        return self._parents.get(id(node))

    def _parse(self, index: int) -> None:
        if index in self._parsed:
            return
        read = self._read.tree.body[index]
        place, first = self._read.location(read), self._starts[index]
        tree = cst.parse_module(self.text[self._ends[first - 2] if first > 1 else 0 : self._ends[place.end_line - 1]])
        self._parsed[index] = _Statement(tree, first - 1)
        (self._body[index],) = tree.body
        self._top.add(id(self._body[index]))
        for one, other in pairs(read, self._body[index]):
            self._written[id(one)] = other
            self._back[id(other)] = one
        self._index(self._body[index])

    def _index(self, statement: cst.CSTNode) -> None:
        for node in walk(statement):
            for child in children(node):
                self._parents[id(child)] = node

    def _statement_of(self, node: cst.CSTNode) -> int:
        """The number of the statement at the top level that ``node``, which was read, is part of."""
        if self._read.has_place(node):
            return max(bisect_right(self._starts, self._read.location(node).line) - 1, 0)
        found = (i for i, s in enumerate(self._read.tree.body) if any(inner is node for inner in walk(s)))
        index = next(found, None)
        if index is None:
            raise KeyError(node)
        return index


def _lines(read: SourceModule, statement: cst.CSTNode) -> Iterator[int]:
    yield read.location(statement).line
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        yield from (read.location(decorator.decorator).line for decorator in statement.decorators)


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
