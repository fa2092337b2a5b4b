"""Turns libcst nodes into text edits, so that a fix leaves the rest of the file byte for byte as it was."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from graphdoctor.fixes import torch_name
from graphdoctor.fixes.errors import Refuse
from graphdoctor.model import Edit, Location
from graphdoctor.source.module import SourceModule
from graphdoctor.source.text import split_lines

EAGER_ONLY = "not torch.compiler.is_compiling()"


class Editor:
    """Makes edits of one module. The methods raise ``Refuse`` where an edit could change what the code means.

    ``path`` is the one that the edits carry; it defaults to that of the module.
    """

    def __init__(self, module: SourceModule, path: str | None = None) -> None:
        self.module = module
        self.path = path if path is not None else module.path

    @property
    def newline(self) -> str:
        """The line end of the file."""
        return self.module.tree.default_newline

    @property
    def indent(self) -> str:
        """One level of indentation in the file."""
        return self.module.tree.default_indent

    @cached_property
    def _parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        return {child: node for node in walk(self.module.tree) for child in node.children}

    @cached_property
    def _lines(self) -> list[str]:
        return split_lines(self.module.text)

    def location(self, node: cst.CSTNode) -> Location:
        """Where ``node`` stands; parentheses around an expression are not part of it."""
        return self.module.location(node)

    def code(self, node: cst.CSTNode) -> str:
        """The source of ``node``: an expression with its parentheses, a statement without comments around it."""
        if isinstance(node, cst.BaseExpression):
            return self.module.code(node)
        place = self.location(node)
        lines = self._lines[place.line - 1 : place.end_line]
        lines[-1] = lines[-1][: place.end_column - 1]
        lines[0] = lines[0][place.column - 1 :]
        return self.newline.join(lines)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds ``node``; None for the module."""
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around ``node``, innermost first."""
        outer = self.parent(node)
        while outer is not None:
            yield outer
            outer = self.parent(outer)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function in which ``node`` stands."""
        return next((n for n in self.ancestors(node) if isinstance(n, cst.FunctionDef)), None)

    def statement_of(self, node: cst.CSTNode) -> cst.BaseSmallStatement | cst.BaseCompoundStatement:
        """The innermost statement that ``node`` belongs to: ``print(x)`` itself, not the line it stands on."""
        for candidate in (node, *self.ancestors(node)):
            if isinstance(candidate, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return candidate
            if isinstance(candidate, cst.SimpleStatementLine) and len(candidate.body) == 1:
                return candidate.body[0]
        raise Refuse("the code is not part of a single statement")

    def following(self, statement: cst.CSTNode) -> cst.BaseStatement | None:
        """The statement after a compound ``statement`` in the same block."""
        block = self.parent(statement)
        if not isinstance(block, (cst.IndentedBlock, cst.Module)):
            return None
        body = list(block.body)
        index = next((i for i, other in enumerate(body) if other is statement), len(body))
        return body[index + 1] if index + 1 < len(body) else None

    def indent_of(self, statement: cst.CSTNode) -> str:
        """The whitespace before ``statement``. Refuses when something else stands before it on its line."""
        place = self.location(statement)
        before = self._lines[place.line - 1][: place.column - 1]
        if before.strip():
            raise Refuse("the statement shares its line with other code")
        return before

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Put ``text`` where ``node`` stands; parentheses around an expression stay."""
        place = self.location(node)
        return Edit(self.path, (place.line, place.column), (place.end_line, place.end_column), text)

    def replace_span(self, first: cst.CSTNode, last: cst.CSTNode, text: str) -> Edit:
        """Put ``text`` where everything from ``first`` to ``last`` stands."""
        start, end = self.location(first), self.location(last)
        return Edit(self.path, (start.line, start.column), (end.end_line, end.end_column), text)

    def insert_before(self, statement: cst.CSTNode, text: str) -> Edit:
        """Put ``text`` right before ``statement``; the caller ends it with a line end and the indentation."""
        place = self.location(statement)
        return Edit(self.path, (place.line, place.column), (place.line, place.column), text)

    def lines(self, indent: str, *lines: str) -> str:
        """``lines`` joined, each but the first behind ``indent``; a leading tab in a line is one level deeper."""
        text = [line.replace("\t", self.indent) for line in lines]
        return (self.newline + indent).join(text)

    def deepen(self, statement: cst.CSTNode, levels: int = 1) -> str:
        """The source of ``statement`` with its continuation lines indented further, multi-line strings left alone."""
        first = self.location(statement).line
        inside_string: set[int] = set()
        for node in walk(statement):
            if isinstance(node, (cst.SimpleString, cst.FormattedString)):
                place = self.location(node)
                inside_string.update(range(place.line + 1, place.end_line + 1))
        lines = self.code(statement).split(self.newline)
        return self.newline.join(
            self.indent * levels + line if number > 0 and line.strip() and first + number not in inside_string else line
            for number, line in enumerate(lines)
        )

    def guard(self, statement: cst.CSTNode, condition: str = EAGER_ONLY) -> tuple[Edit, ...]:
        """Put a simple statement under ``if <condition>:``, with the ``import torch`` that this needs."""
        small = self.statement_of(statement)
        line = self.parent(small)
        imports = self.torch_import(statement)
        if not isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            raise Refuse("the statement is not a simple one")
        if len(line.body) > 1 or isinstance(line.body[0].semicolon, cst.Semicolon):
            raise Refuse("the statement shares its line with other statements")
        if isinstance(line, cst.SimpleStatementLine):
            text = self.lines(self.indent_of(line), f"if {condition}:", "\t" + self.deepen(small))
            return (*imports, self.replace(small, text))
        return (*imports, self._expand_suite(line, small, condition))

    def _expand_suite(self, suite: cst.SimpleStatementSuite, small: cst.CSTNode, condition: str) -> Edit:
        """``if a: print(x)`` becomes three lines."""
        header = self.parent(suite)
        while isinstance(header, (cst.Else, cst.Finally, cst.ExceptHandler)):
            header = self.parent(header)
        assert header is not None
        indent = self.indent_of(header)
        place = self.location(small)
        before = self._lines[place.line - 1][: place.column - 1]
        if not before.rstrip().endswith(":"):
            raise Refuse("the statement does not stand right after a colon")
        text = self.newline + indent + self.indent
        text += self.lines(indent + self.indent, f"if {condition}:", "\t" + self.deepen(small, levels=2))
        start = (place.line, len(before.rstrip()) + 1)
        return Edit(self.path, start, (place.end_line, place.end_column), text)

    def torch_import(self, near: cst.CSTNode | None = None) -> tuple[Edit, ...]:
        """The edit that makes the name ``torch`` usable, none when it is.

        Refuses when the name stands for something else, at module level or in the functions around ``near``.
        """
        for function in self.ancestors(near) if near is not None else ():
            if isinstance(function, (cst.FunctionDef, cst.Lambda)) and torch_name.is_local(function):
                raise Refuse("the name torch is bound to something local in this function")
        binding = torch_name.at_module_level(self.module.tree)
        if binding == "shadowed":
            raise Refuse("the name torch stands for something else in this file")
        return () if binding == "bound" else (self._import_edit(),)

    def _import_edit(self) -> Edit:
        after, before = torch_name.import_position(self.module.tree)
        if before is not None:
            line = self.location(before).line
            return Edit(self.path, (line, 1), (line, 1), "import torch" + self.newline)
        if after is None:
            raise Refuse("the file has no statement")
        line = self.location(after).end_line
        if line < len(self._lines):
            return Edit(self.path, (line + 1, 1), (line + 1, 1), "import torch" + self.newline)
        end = (line, len(self._lines[line - 1]) + 1)
        return Edit(self.path, end, end, self.newline + "import torch")


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """``node`` and everything in it, in source order."""
    yield node
    for child in node.children:
        yield from walk(child)
