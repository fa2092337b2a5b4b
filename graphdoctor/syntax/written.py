"""A file as it is written: libcst's own nodes, with comments and whitespace, for what is changed or quoted.

Parses only the statements that are needed: of the module, and of its classes the single methods. The
others stay as the analysis read them, which says what they mean and where they stand.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from graphdoctor.model.findings import Location
from graphdoctor.source.text import LINE_END, line_starts
from graphdoctor.syntax.walk import children, is_node, parts, walk

if TYPE_CHECKING:
    from graphdoctor.syntax.module import SourceModule


@dataclass(frozen=True)
class _Parsed:
    """A part of the file that was parsed, and how many lines stand before it."""

    tree: cst.Module
    before: int

    @cached_property
    def positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        """Where its nodes stand, from its own first line."""
        # A tree fresh from the parser has no shared nodes, so the copy that MetadataWrapper makes is not needed.
        return MetadataWrapper(self.tree, unsafe_skip_copy=True).resolve(PositionProvider)


@dataclass(frozen=True)
class _Block:
    """The statements of the module or of a class: as they were read, where they begin, and as they are now.

    A node of libcst holds the list ``now``, in which a statement that is parsed takes the place of the one read.
    """

    read: Sequence[Any]
    starts: Sequence[int]
    now: list[Any]

    def number(self, line: int) -> int:
        """Which of the statements stands in ``line``."""
        return max(bisect_right(self.starts, line) - 1, 0)


class Written:
    """The nodes of libcst's parser beside those that the analysis read.

    Raises ``libcst.ParserSyntaxError`` where libcst rejects what Python accepts.
    """

    def __init__(self, read: SourceModule) -> None:
        self._read = read
        self.path = read.path
        self.text = read.text
        self.lines = read.lines
        self._top = self._block(read.tree.body)
        #: By the ids of the classes read whose head was parsed.
        self._classes: dict[int, _Block] = {}
        #: By the id of the outermost node of each part that was parsed.
        self._parsed: dict[int, _Parsed] = {}
        #: By the ids of nodes that the analysis read those that are written, and the other way round.
        self._written: dict[int, cst.CSTNode] = {}
        self._back: dict[int, cst.CSTNode] = {}
        #: By the id of a node the one above it.
        self._parents: dict[int, cst.CSTNode] = {}
        #: The patterns that were looked for in the text, and whether they are in it.
        self._found: dict[re.Pattern[str], bool] = {}

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Whether ``pattern`` is found in the text of the file, which is searched once: all its fixes ask."""
        if pattern not in self._found:
            self._found[pattern] = pattern.search(self.text) is not None
        return self._found[pattern]

    @cached_property
    def tree(self) -> cst.Module:
        """The module: with whitespace and comments where they were needed before, else as it was first parsed."""
        return cst.Module(self._top.now, default_indent=self.indent, default_newline=self.newline)

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
        """How far the text goes with each line, from a line 0 on."""
        return [*line_starts(self.text), len(self.text)]

    def of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The written node that stands where ``node`` does. Raises KeyError where there is none."""
        if id(node) in self._back or isinstance(node, cst.Module):
            return node
        if id(node) not in self._written:
            self._parse(node)
        return self._written[id(node)]

    def read(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node that the analysis read where the written ``node`` stands; ``node`` itself where there is none."""
        return self._back.get(id(node), node)

    def current(self, node: cst.CSTNode) -> cst.CSTNode:
        """``node`` as it is written, if that was parsed, else as it was read."""
        return self._written.get(id(node), node)

    def location(self, node: cst.CSTNode) -> Location:
        """Where ``node``, written or read, stands, without surrounding whitespace."""
        read = self._back.get(id(node), node)
        if self._read.has_place(read):
            return self._read.location(read)
        parsed = self._part(node)
        return self.location(self.of(node)) if parsed is None else self._place(node, parsed)

    def comments(self, node: cst.CSTNode) -> Iterator[tuple[Location, str]]:
        """The comments in ``node``, a written one, and where they stand, in source order. Not those above it, which a
        rewrite of it leaves where they are.
        """
        place, parsed = self.location(node), self._part(node)
        above = getattr(node, "leading_lines", ())
        stack = [child for child in reversed(node.children) if child not in above]
        if parsed is None or not any("#" in line for line in self.lines[place.line - 1 : place.end_line]):
            return
        while stack:
            current = stack.pop()
            if isinstance(current, cst.Comment):
                yield self._place(current, parsed), current.value
            stack += reversed(current.children)

    def code(self, node: cst.CSTNode) -> str:
        """The text of ``node``, an expression or a part of one, as it stands in the file."""
        return self.tree.code_for_node(self.of(node) if self._read.has_place(node) else node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds ``node``, the written one if there is one; None for the module."""
        if id(node) not in self._parents and self._read.has_place(node):
            self._index(self._top.read[self._top.number(self._read.location(node).line)], self.tree)
        found = self._parents.get(id(node))
        return None if found is None else self.current(found)

    def _part(self, node: cst.CSTNode) -> _Parsed | None:
        """The part of the file that ``node`` was parsed with."""
        outer: cst.CSTNode | None = node
        while outer is not None and id(outer) not in self._parsed:
            outer = self._parents.get(id(outer))
        return None if outer is None else self._parsed[id(outer)]

    def _place(self, node: cst.CSTNode, parsed: _Parsed) -> Location:
        start, end = parsed.positions[node].start, parsed.positions[node].end
        return Location(
            self.path, start.line + parsed.before, start.column + 1, end.line + parsed.before, end.column + 1
        )

    def _parse(self, node: cst.CSTNode) -> None:
        """Parse the statement that ``node``, which was read, is part of; of a class the head, or one of its body."""
        line = self._line(node)
        number = self._top.number(line)
        statement = self._top.read[number]
        if not isinstance(statement, cst.ClassDef) or not isinstance(statement.body, cst.IndentedBlock):
            self._parse_statement(self._top, number, self.tree)
            return
        if id(statement) not in self._classes:
            self._parse_head(statement, number)
        block = self._classes[id(statement)]
        if id(node) not in self._written and line >= block.starts[0]:
            self._parse_statement(block, block.number(line), self._written[id(statement.body)])

    def _parse_statement(self, block: _Block, number: int, holder: cst.CSTNode) -> None:
        """Parse a statement of ``block``, which ``holder`` holds: that of a class after a head of its own."""
        read = block.read[number]
        if block.now[number] is not read:
            return
        first, last = block.starts[number], self._read.location(read).end_line
        text = self.text[self._ends[first - 1] : self._ends[last]]
        written: cst.CSTNode
        if block is self._top:
            parsed = _Parsed(cst.parse_module(text), first - 1)
            (written,) = parsed.tree.body
        else:
            parsed = _Parsed(cst.parse_module(f"class _:{self.newline}{text}"), first - 2)
            (written,) = cst.ensure_type(parsed.tree.body[0], cst.ClassDef).body.body
        block.now[number] = written
        self._take(read, written, parsed, holder)

    def _parse_head(self, read: cst.ClassDef, number: int) -> None:
        """Parse a class without its body, whose statements stay as they were read."""
        block = self._block(read.body.body)
        first, body = self._top.starts[number], self._read.location(read.body)
        indent = self.lines[body.line - 1][: body.column - 1]
        text = self.text[self._ends[first - 1] : self._ends[block.starts[0] - 1]]
        parsed = _Parsed(cst.parse_module(f"{text}{indent}pass"), first - 1)
        statements: list[Any] = []
        written = parsed.tree.body[0].with_changes(body=cst.IndentedBlock(statements))
        self._take(read, written, parsed, self.tree)
        # Only now: the body is not yet written, and has no places of its own.
        statements += block.now
        self._classes[id(read)] = replace(block, now=statements)
        self._top.now[number] = written

    def _take(self, read: cst.CSTNode, written: cst.CSTNode, parsed: _Parsed, holder: cst.CSTNode) -> None:
        """Keep that ``written`` stands where ``read`` does, and the nodes in it where those in ``read`` do."""
        self._parsed[id(written)] = parsed
        for one, other in pairs(read, written):
            self._written[id(one)] = other
            self._back[id(other)] = one
        self._index(written, holder)

    def _index(self, statement: cst.CSTNode, holder: cst.CSTNode) -> None:
        parents, waiting = self._parents, [statement]
        parents[id(statement)] = holder
        while waiting:
            node = waiting.pop()
            below = children(node)
            parents.update((id(child), node) for child in below)
            waiting += below

    def _line(self, node: cst.CSTNode) -> int:
        """A line of the statement that ``node``, which was read, is part of. Raises KeyError where there is none."""
        if self._read.has_place(node):
            return self._read.location(node).line
        statement = next((s for s in self._top.read if any(inner is node for inner in walk(s))), None)
        if statement is None:
            raise KeyError(node)
        self._index(statement, self.tree)
        outer = self._parents[id(node)]
        while not self._read.has_place(outer):
            outer = self._parents[id(outer)]
        return self._read.location(outer).line

    def _block(self, statements: Sequence[Any]) -> _Block:
        return _Block(statements, [min(_lines(self._read, s)) for s in statements], list(statements))


def _lines(read: SourceModule, statement: cst.CSTNode) -> Iterator[int]:
    yield read.location(statement).line
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        yield from (read.location(decorator.decorator).line for decorator in statement.decorators)


def pairs(read: cst.CSTNode, written: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Nodes of two trees of one file that stand at the same place; where the trees part, nothing below.

    In ``read`` adjacent strings are one, and ``{x=}`` is a text and an expression: expressions come in the same order.
    """
    stack = [(read, written)]
    while stack:
        one, other = stack.pop()
        yield one, other
        if type(one) is not type(other):
            if isinstance(other, cst.ConcatenatedString) and isinstance(one, cst.FormattedString):
                stack += zip(_in_braces(one.parts), _expressions(other), strict=True)
            continue
        for mine, theirs in zip(parts(one), parts(other), strict=True):
            if isinstance(mine, (list, tuple)):
                if len(mine) != len(theirs):
                    mine, theirs = _in_braces(mine), _in_braces(theirs)
                if len(mine) == len(theirs):
                    stack += zip(mine, theirs, strict=True)
            elif is_node(mine) and is_node(theirs):
                stack.append((mine, theirs))


def _expressions(string: cst.BaseExpression) -> list[cst.CSTNode]:
    """What stands between the braces of ``string``, or of adjacent strings, in source order."""
    if isinstance(string, cst.ConcatenatedString):
        return [*_expressions(string.left), *_expressions(string.right)]
    return _in_braces(string.parts) if isinstance(string, cst.FormattedString) else []


def _in_braces(parts_of_string: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    return [part for part in parts_of_string if isinstance(part, cst.FormattedStringExpression)]
