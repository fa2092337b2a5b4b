"""Makes a program that shows a difference smaller: statements and parts of them go while the difference stays."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.fix_safety.check import Checked, check_on
from benchmarks.fix_safety.fixing import statically_fixed
from benchmarks.fix_safety.program import Program

#: Smaller programs that are tried for one difference; each costs a scan.
_MOST = 120


def reduced(checked: Checked) -> Checked:
    """The same kind of difference in a smaller program, on the same input."""
    best, tried = checked, 0
    shrinking = True
    while shrinking and tried < _MOST:
        shrinking = False
        for text in _smaller(best.fixed.program.text):
            tried += 1
            smaller = _still(replace(best.fixed.program, text=text), checked)
            if smaller is not None:
                best, shrinking = smaller, True
                break
            if tried >= _MOST:
                break
    return best


def _still(program: Program, checked: Checked) -> Checked | None:
    assert checked.given is not None
    (fixed,) = statically_fixed([program])
    if fixed.text == program.text:
        return None
    again = check_on(fixed, [checked.given])
    same = set(again.kinds) & set(checked.kinds) and set(again.fixed.rules) & set(checked.fixed.rules)
    return again if same else None


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
