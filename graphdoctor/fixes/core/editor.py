"""Turns libcst nodes into text edits, so that a fix leaves the rest of the file byte for byte as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise

import libcst as cst

from graphdoctor.fixes.core import torch_name
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import EAGER_ONLY, LINE_LENGTH, in_test
from graphdoctor.fixes.core.node_lookup import Lookup
from graphdoctor.fixes.core.parentheses import without_needless
from graphdoctor.model.findings import Edit, Location
from graphdoctor.static.domain.recorded_values import Recorder
from graphdoctor.static.domain.values import Value
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import walk

#: Every text with a string of several lines has one of these: triple quotes, a backslash at the end of a line, or, from
#: Python 3.12 on, a line that ends inside the braces of a formatted string.
_LONG_STRING = re.compile(r"\"\"\"|'''|\\[\r\n]|\{[^}]*[\r\n]")


class Editor(Lookup):
    """Makes edits of one module. The methods raise ``Refuse`` where an edit could change what the code means.

    ``path`` is the one that the edits carry; it defaults to that of the module. ``recorded`` gives the values of
    expressions; it is called when a fix first asks for one.
    """

    def __init__(
        self, module: SourceModule, path: str | None = None, recorded: Callable[[], Recorder] = Recorder
    ) -> None:
        super().__init__(module.written)
        self.path = path if path is not None else module.path
        self._recorded = recorded

    @cached_property
    def _recorder(self) -> Recorder:
        return self._recorded()

    def value(self, node: cst.CSTNode) -> Value:
        """What the interpreter knows of the expression ``node``: UNKNOWN where it never evaluated it."""
        return self._recorder.value(self.module.read(node))

    def may_come_by_star(self, name: str) -> bool:
        """Whether ``from m import *`` may bind ``name``: not where all such modules were read, and none has it."""
        module = self._recorder.module
        return module is None or module.imports_unknown_names or name in module.scope.names

    @property
    def newline(self) -> str:
        """The line end of the file."""
        return self.module.newline

    @property
    def indent(self) -> str:
        """One level of indentation in the file."""
        return self.module.indent

    @cached_property
    def _lines(self) -> list[str]:
        return list(self.module.lines)

    def location(self, node: cst.CSTNode) -> Location:
        """Where ``node`` stands; parentheses around an expression are not part of it."""
        return self.module.location(node)

    def code(self, node: cst.CSTNode) -> str:
        """The source of ``node``: an expression with its parentheses, a statement without comments around it."""
        if isinstance(node, cst.BaseExpression):
            try:
                return self.module.code(node)
            except RecursionError:
                # Python 3.12 nests fewer calls that go through C; parentheses are not part of the place.
                return f"({self._text(node)})" if node.lpar else self._text(node)
        return self._text(node)

    def _text(self, node: cst.CSTNode) -> str:
        place = self.location(node)
        lines = self._lines[place.line - 1 : place.end_line]
        lines[-1] = lines[-1][: place.end_column - 1]
        lines[0] = lines[0][place.column - 1 :]
        return self.newline.join(lines)

    def operand(self, node: cst.BaseExpression) -> str:
        """The source of ``node``, in parentheses where a method of it could not be called otherwise."""
        simple = isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Dict))
        return self.code(node) if simple or node.lpar else f"({self.code(node)})"

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds ``node``; None for the module."""
        return self.module.parent(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around ``node``, innermost first."""
        outer = self.parent(node)
        while outer is not None:
            yield outer
            outer = self.parent(outer)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function in which ``node`` stands."""
        return next((n for n in self.ancestors(node) if type(n) is cst.FunctionDef), None)

    def is_label(self, node: cst.Name) -> bool:
        """The ``name`` of ``x.name`` and of ``f(name=1)``, which reads no variable."""
        outer = self.parent(node)
        is_keyword = isinstance(outer, cst.Arg) and outer.keyword is node
        return is_keyword or (isinstance(outer, cst.Attribute) and outer.attr is node)

    def statement_of(self, node: cst.CSTNode) -> cst.BaseSmallStatement | cst.BaseCompoundStatement:
        """The innermost statement that ``node`` belongs to: ``print(x)`` itself, not the line it stands on.

        Raises Refuse where there is none.
        """
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

    def is_blank(self, line: int) -> bool:
        """True when ``line`` (1-based) of the file holds nothing but whitespace."""
        return not self._lines[line - 1].strip()

    def first_line(self, statement: cst.CSTNode) -> int:
        """The line where a function or class begins: with its decorators and the comments right above it."""
        line = self.location(statement).line
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            line = min([line, *(self.location(d).line for d in statement.decorators)])
        while line > 1 and self._lines[line - 2].lstrip().startswith("#"):
            line -= 1
        return line

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Put ``text`` where ``node`` stands; parentheses around an expression stay.

        A space goes between ``text`` and a word right beside it: ``2if x else y`` is valid, ``nif x else y`` is not.
        """
        place = self.location(node)
        text = without_needless(text, node, self.parent(node))
        before = self._lines[place.line - 1][: place.column - 1][-1:]
        after = self._lines[place.end_line - 1][place.end_column - 1 :][:1]
        text = (" " if _is_word(before) and _is_word(text[:1], "\"'") else "") + text
        text += " " if _is_word(text[-1:]) and _is_word(after) else ""
        return Edit(self.path, (place.line, place.column), (place.end_line, place.end_column), text)

    def replace_whole(self, node: cst.BaseExpression, text: str) -> Edit:
        """Like ``replace``, with the parentheses of a tuple or generator."""
        edit = self.replace(node, text)
        if not isinstance(node, (cst.Tuple, cst.GeneratorExp)) or not node.lpar:
            return edit
        start, end = edit.start, edit.end
        before = self._lines[start[0] - 1][: start[1] - 1].rstrip()
        after = self._lines[end[0] - 1][end[1] - 1 :]
        if before.endswith("(") and after.lstrip().startswith(")"):
            start = (start[0], len(before))
            end = (end[0], end[1] + len(after) - len(after.lstrip()) + 1)
        return Edit(self.path, start, end, text)

    def narrowed(self, node: cst.CSTNode, text: str) -> Edit:
        """Like ``replace``, but only what differs, so that two rewrites can change parts of one expression."""
        place = self.location(node)
        before = self._lines[place.line - 1][place.column - 1 : place.end_column - 1]
        if place.line != place.end_line:
            return self.replace(node, text)
        start = _shared(before, text)
        end = _shared(before[start:][::-1], text[start:][::-1])
        columns = place.column + start, place.end_column - end
        return Edit(self.path, (place.line, columns[0]), (place.line, columns[1]), text[start : len(text) - end])

    def replace_span(self, first: cst.CSTNode, last: cst.CSTNode, text: str) -> Edit:
        """Put ``text`` where everything from ``first`` to ``last`` stands."""
        start, end = self.location(first), self.location(last)
        return Edit(self.path, (start.line, start.column), (end.end_line, end.end_column), text)

    def delete(self, statement: cst.CSTNode) -> Edit:
        """Take out the lines of ``statement``. Refuses when they hold other code, or are all that their block has."""
        small = self.statement_of(statement)
        line = self.parent(small) if isinstance(small, cst.BaseSmallStatement) else small
        block = self.parent(line) if line is not None else None
        if not isinstance(line, cst.BaseStatement) or not isinstance(block, (cst.IndentedBlock, cst.Module)):
            raise Refuse("the statement shares its line with other code")
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1:
            raise Refuse("the statement shares its line with other statements")
        if len(block.body) == 1:
            raise Refuse("the statement is all that its block does")
        place = self.location(line)
        if place.end_line < len(self._lines):
            return Edit(self.path, (place.line, 1), (place.end_line + 1, 1), "")
        # The file ends without a line end: the one before goes.
        ends = (place.line - 1, len(self._lines[place.line - 2]) + 1), (place.end_line, len(self._lines[-1]) + 1)
        return Edit(self.path, *ends, "")

    def insert_before(self, statement: cst.CSTNode, text: str) -> Edit:
        """Put ``text`` right before ``statement``; the caller ends it with a line end and the indentation."""
        place = self.location(statement)
        return Edit(self.path, (place.line, place.column), (place.line, place.column), text)

    def lines(self, indent: str, *lines: str) -> str:
        """``lines`` joined, each but the first after ``indent``; a leading tab in a line is one level deeper.

        An empty line between others stays empty; as the last one it is the indentation of what follows.
        """
        text = (self.newline + indent).join(line.replace("\t", self.indent) for line in lines)
        return text.replace(f"{self.newline}{indent}{self.newline}", self.newline * 2)

    def statement(self, indent: str, start: str, value: str) -> str:
        """``start`` with ``value``; where one line is too long, what is in its parentheses has lines of its own."""
        if len(indent) + len(start) + len(value) <= LINE_LENGTH or self.newline in value:
            return start + value
        node = cst.parse_expression(value)
        if not isinstance(node, cst.Call) or node.lpar:
            return self.lines(indent, f"{start}(", f"\t{value}", ")")
        code = self.module.tree.code_for_node
        arguments = [code(a.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for a in node.args]
        together = ", ".join(arguments)
        fits = len(indent) + len(self.indent) + len(together) <= LINE_LENGTH
        rows = [together] if fits else [f"{argument}," for argument in arguments]
        return self.lines(indent, f"{start}{code(node.func)}(", *(f"\t{row}" for row in rows), ")")

    def deepen(self, statement: cst.CSTNode, levels: int = 1) -> str:
        """The source of ``statement`` with its continuation lines indented further, multi-line strings left alone."""
        first, text = self.location(statement).line, self.code(statement)
        inside_string: set[int] = set()
        # To ask where each part of adjacent strings stands takes long, and hardly any text has such a string.
        for node in walk(statement) if _LONG_STRING.search(text) is not None else ():
            if isinstance(node, (cst.SimpleString, cst.FormattedString)):
                place = self.location(node)
                inside_string.update(range(place.line + 1, place.end_line + 1))
        lines = text.split(self.newline)
        return self.newline.join(
            self.indent * levels + line if number > 0 and line.strip() and first + number not in inside_string else line
            for number, line in enumerate(lines)
        )

    def dedented(self, statement: cst.CSTNode, indent: str = "") -> str:
        """The source of ``statement`` as it would stand after ``indent``. Refuses strings of several lines."""
        before = self.indent_of(statement)
        for node in walk(statement):
            if isinstance(node, (cst.SimpleString, cst.FormattedString)) and self.newline in self.code(node):
                raise Refuse("a string of several lines would be moved")
        lines = self.code(statement).split(self.newline)
        moved = (indent + line.removeprefix(before) if line else "" for line in lines[1:])
        return self.newline.join([lines[0], *moved])

    def shortest_guard(self, statement: cst.CSTNode) -> tuple[Edit, ...]:
        """``guard``, or its condition in the test around, where ``statement`` is all that this test decides."""
        edit = in_test(statement, self)
        return (*self.torch_import(statement), edit) if edit is not None else self.guard(statement)

    def guard(self, statement: cst.CSTNode, condition: str = EAGER_ONLY) -> tuple[Edit, ...]:
        """Put a simple statement under ``if <condition>:``, with the ``import torch`` that this needs.

        Raises Refuse where it does not fit.
        """
        small = self.statement_of(statement)
        line = self.parent(small)
        imports = self.torch_import(statement)
        if not isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            raise Refuse("the statement is not a simple one")
        if isinstance(line, cst.SimpleStatementSuite):
            if len(line.body) > 1:
                return (*imports, *self._split_line(line, small, condition))
            return (*imports, self._expand_suite(line, small, condition))
        if len(line.body) > 1:
            return (*imports, *self._split_line(line, small, condition))
        text = self.lines(self.indent_of(line), f"if {condition}:", "\t" + self.deepen(small))
        return (*imports, self.replace(small, text))

    def _split_line(
        self, line: cst.SimpleStatementLine | cst.SimpleStatementSuite, small: cst.CSTNode, condition: str
    ) -> Iterator[Edit]:
        """``y = x; print(y)`` becomes a line for each. Each semicolon is an edit, for the statement beyond may have
        one too."""
        first, is_suite = self.location(line.body[0]), isinstance(line, cst.SimpleStatementSuite)
        indent = self._suite_indent(line) + self.indent if is_suite else self.indent_of(line)
        apart = self.newline + indent
        if is_suite:
            before = self._lines[first.line - 1][: first.column - 1]
            if not before.rstrip().endswith(":"):
                raise Refuse("the statement does not stand right after a colon")
            yield Edit(self.path, (first.line, len(before.rstrip()) + 1), (first.line, first.column), apart)
        for left, right in pairwise(line.body):
            if small in (left, right):
                end, start = self.location(left), self.location(right)
                yield Edit(self.path, (end.end_line, end.end_column), (start.line, start.column), apart)
        text = self.lines(indent, f"if {condition}:", "\t" + self.deepen(small, levels=2 if is_suite else 1))
        yield self.replace(small, text)

    def _suite_indent(self, suite: cst.CSTNode) -> str:
        """The indentation of the statement whose block stands after its colon."""
        header = self.parent(suite)
        while isinstance(header, (cst.Else, cst.Finally, cst.ExceptHandler)):
            header = self.parent(header)
        assert header is not None
        return self.indent_of(header)

    def _expand_suite(self, suite: cst.SimpleStatementSuite, small: cst.CSTNode, condition: str) -> Edit:
        """``if a: print(x)`` becomes three lines."""
        indent = self._suite_indent(suite)
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
        in_function = False
        for outer in self.ancestors(near) if near is not None else ():
            if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
                in_function = True
                if self.has_own_torch(outer):
                    line = torch_name.import_in(outer)
                    if line is not None and near is not None and self.location(line) < self.location(near):
                        return ()
                    raise Refuse("the name torch is bound to something local in this function")
            elif torch_name.is_clause(outer) and not (in_function and isinstance(outer, cst.ClassDef)):
                raise Refuse("the name torch is bound to something local in this function")
        if self.torch == "shadowed":
            raise Refuse("the name torch stands for something else in this file")
        line = self.torch_import_line
        if line is None or (near is not None and self.location(near) < self.location(line)):
            return (self._import_edit(),)
        return ()

    def _import_edit(self) -> Edit:
        place = torch_name.import_position(self.module.tree, self.path)
        statement, text = place.statement, "import torch" + self.newline
        assert statement is not None
        if not place.is_below:
            decorators = statement.decorators if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) else ()
            line = min(self.location(node).line for node in (statement, *decorators))
            return Edit(self.path, (line, 1), (line, 1), text + self.newline * place.is_apart)
        line = self.location(statement).end_line + 1
        text = self.newline * place.is_apart + text
        if line > len(self._lines):
            end = (line - 1, len(self._lines[line - 2]) + 1)
            return Edit(self.path, end, end, self.newline + text.removesuffix(self.newline))
        is_followed = self._lines[line - 1].startswith(("import ", "from "))
        return Edit(self.path, (line, 1), (line, 1), text + self.newline * (place.is_apart and is_followed))


def _is_word(character: str, also: str = "") -> bool:
    return character.isalnum() or (character != "" and character in "_" + also)


def _shared(first: str, second: str) -> int:
    """How many characters the two begin with alike."""
    different = (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(different, min(len(first), len(second)))
