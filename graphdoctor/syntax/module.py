"""A source file, read: text, syntax tree in libcst's node classes, places of the nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import libcst as cst

from graphdoctor.model.findings import Location
from graphdoctor.source.errors import SourceError
from graphdoctor.source.text import split_lines
from graphdoctor.syntax import parse_check
from graphdoctor.syntax.from_ast import Builder
from graphdoctor.syntax.garbage_collection import collector_paused
from graphdoctor.syntax.nodes import fill
from graphdoctor.syntax.positions import place_of
from graphdoctor.syntax.recursion_limit import deep_recursion
from graphdoctor.syntax.walk import walk
from graphdoctor.syntax.written import Written

_NAMED = (cst.FunctionDef, cst.ClassDef)


class SourceModule:
    """One file. ``path`` is the one that findings show, ``file`` the one on disk.

    ``tree`` is for reading: it has what carries meaning, and no comments or whitespace; ``written`` has everything.
    ``top`` is ``tree`` without the bodies of functions, which are made when ``body`` asks for them: most of a file is
    never called. Raises SourceError.
    """

    def __init__(self, path: str, file: Path, text: str, encoding: str, tree: ast.Module | None = None) -> None:
        self.path = path
        self.file = file
        self.text = text
        self.encoding = encoding
        self._bodies: dict[int, cst.BaseSuite] = {}
        self._functions: dict[str, cst.FunctionDef | None] = {}
        parsed = parse_check.check(text) if tree is None else tree
        self._builder = Builder(self.lines)
        try:
            with collector_paused():
                self.top = cst.Module(deep_recursion(self._builder.statements)(parsed.body))
        except RecursionError:
            raise SourceError("too deeply nested to parse") from None

    @cached_property
    @deep_recursion
    def tree(self) -> cst.Module:
        """The whole file; the nodes of ``top``, with the bodies of functions."""
        for node in walk(self.top, stop=(cst.FunctionDef,)):
            if type(node) is cst.FunctionDef:
                fill(node, self.body(node))
        return self.top

    def function(self, qualname: str) -> cst.FunctionDef | None:
        """The function ``Net.forward``, with its body; None where a class, or nothing, has that name."""
        if qualname not in self._functions:
            self._functions[qualname] = self._function(qualname)
        return self._functions[qualname]

    def _function(self, qualname: str) -> cst.FunctionDef | None:
        found: Any = self.top
        for name in qualname.split("."):
            inside: Iterator[Any] = walk(found.body if type(found) in _NAMED else found, stop=_NAMED)
            found = next((n for n in inside if type(n) in _NAMED and n.name.value == name), None)
            if found is None:
                return None
            if type(found) is cst.FunctionDef:
                fill(found, self.body(found))
        return found if type(found) is cst.FunctionDef else None

    @cached_property
    def resolved(self) -> Path:
        """The full path of ``file``, without symbolic links."""
        return self.file.resolve()

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The source lines without their ends."""
        return tuple(split_lines(self.text))

    @cached_property
    def written(self) -> Written:
        """The file as it is written, for rewrites."""
        return Written(self)

    def forget_written(self) -> None:
        """Let go of the written file: its tree takes about 2.5 MB for 1,000 lines."""
        self.__dict__.pop("written", None)

    def location(self, node: cst.CSTNode) -> Location:
        """Where ``node``, one of ``tree``, stands, without surrounding whitespace and parentheses."""
        origin = self._builder.origin.get(id(node))
        if origin is None:
            return self.written.location(self.written.of(node))
        return Location(self.path, *place_of(origin, self.lines))

    def syntax_of(self, node: cst.CSTNode) -> ast.AST | None:
        """The node of Python's own parser that ``node``, one of ``tree``, was made of; None where several were."""
        origin = self._builder.origin.get(id(node))
        return origin if isinstance(origin, ast.AST) else None

    def code(self, node: cst.CSTNode) -> str:
        """The text of ``node``, without parentheses around it."""
        place = self.location(node)
        rows = list(self.lines[place.line - 1 : place.end_line])
        rows[-1] = rows[-1][: place.end_column - 1]
        rows[0] = rows[0][place.column - 1 :]
        return "\n".join(rows)

    def has_place(self, node: cst.CSTNode) -> bool:
        """Whether ``location`` knows where ``node``, one of ``tree``, stands without looking at the written file."""
        return id(node) in self._builder.origin

    def body(self, function: cst.FunctionDef) -> cst.BaseSuite:
        """The body of a function of the tree."""
        found = self._bodies.get(id(function))
        if found is None:
            with collector_paused():
                found = self._bodies[id(function)] = self._builder.body(function)
        return found
