"""Makes a program that shows a difference smaller: statements and parts of them go while the difference stays."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from benchmarks.fix_safety.check import Checked, check_on
from benchmarks.fix_safety.fixing import Fixed, statically_fixed
from benchmarks.fix_safety.program import Program
from graphdoctor.dynamic.user_code.time_limit import TooLong, at_most

Fixer = Callable[[Sequence[Program]], Sequence[Fixed]]

#: How often something is taken away, and how many ways to do so one scan tries.
_ROUNDS, _WAYS = 12, 24
#: Seconds that a smaller program may take.
_SECONDS = 10.0


def reduced(checked: Checked, fix: Fixer = statically_fixed) -> Checked:
    """The same kind of difference in a smaller program, on the same input, where ``fix`` fixes as it did before."""
    best = checked
    for _ in range(_ROUNDS):
        texts = list(islice(_smaller(best.fixed.program.text), _WAYS))
        smaller = next(_still(best, texts, fix), None)
        if smaller is None:
            break
        best = smaller
    return best


def _still(checked: Checked, texts: Sequence[str], fix: Fixer) -> Iterator[Checked]:
    """Of the programs with these texts, those that a fix of the same rule makes differ in the same way."""
    assert checked.failing_input is not None
    made = checked.fixed.program
    programs = [replace(made, name=f"{made.name}_{number}", text=text) for number, text in enumerate(texts)]
    for fixed in fix(programs) if programs else ():
        if fixed.text != fixed.program.text and set(fixed.rules) & set(checked.fixed.rules):
            try:
                with at_most(_SECONDS):
                    again = check_on(fixed, [checked.failing_input])
            except TooLong:  # a loop has lost its end
                continue
            if set(again.kinds) & set(checked.kinds):
                yield replace(again, fixed=replace(fixed, program=replace(fixed.program, name=made.name)))


def _smaller(text: str) -> Iterator[str]:
    """The text without one statement, or with a block in place of the statement that holds it; the largest first."""
    tree = ast.parse(text)
    size = len(ast.unparse(tree))
    made = []
    for path in _blocks(tree):
        block = _at(tree, path)
        for number, statement in enumerate(block):
            inner = [*getattr(statement, "body", []), *getattr(statement, "orelse", [])]
            for put in ([], inner) if inner and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else ([],):
                smaller = copy.deepcopy(tree)
                _at(smaller, path)[number : number + 1] = copy.deepcopy(put)
                if not _at(smaller, path) and path[-1][1] == "body" and len(path) > 1:
                    continue
                made.append(ast.unparse(smaller) + "\n")
    made = [one for one in dict.fromkeys(made) if len(one) < size]
    yield from sorted(made, key=len)


_Path = tuple[tuple[int, str], ...]


def _blocks(tree: ast.AST) -> list[_Path]:
    """The paths of all blocks of statements: the number of the statement in each block, and the field."""
    found: list[_Path] = []

    def visit(node: ast.AST, path: _Path) -> None:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                found.append((*path, (-1, name)))
                for number, statement in enumerate(block):
                    visit(statement, (*path, (number, name)))

    visit(tree, ())
    return found


def _at(tree: ast.AST, path: _Path) -> list[ast.stmt]:
    node: ast.AST = tree
    for number, name in path[:-1]:
        node = getattr(node, name)[number]
    block: list[ast.stmt] = getattr(node, path[-1][1])
    return block
