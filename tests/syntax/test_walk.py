"""The fast walk reaches every node that carries meaning."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from graphdoctor.syntax.walk import by_class, children, find, walk

#: Nodes of whitespace and punctuation, which the walk leaves out.
PUNCTUATION = (cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, cst.Newline, cst.EmptyLine, cst.Comment)
MARKS = (cst.Comma, cst.Colon, cst.Dot, cst.Semicolon, cst.AssignEqual, cst.LeftParen, cst.RightParen)
BRACKETS = (cst.LeftSquareBracket, cst.RightSquareBracket, cst.LeftCurlyBrace, cst.RightCurlyBrace)


@pytest.mark.parametrize("name", ["interp/statements.py", "interp/expressions.py", "domain/values.py"])
def test_the_walk_meets_what_libcst_meets(root: Path, name: str) -> None:
    tree = cst.parse_module((root / "graphdoctor" / "static" / name).read_text())
    everything = [tree]
    for node in everything:
        everything.extend(node.children)
    meant = [n for n in everything if not isinstance(n, (*PUNCTUATION, *MARKS, *BRACKETS))]
    assert {id(n) for n in meant} <= {id(n) for n in walk(tree)} <= {id(n) for n in everything}


def test_nothing_below_a_stop_is_met() -> None:
    tree = cst.parse_module("x = lambda: y\n")
    names = [n.value for n in walk(tree, stop=(cst.Lambda,)) if isinstance(n, cst.Name)]
    assert names == ["x"]


def test_children_come_in_source_order() -> None:
    node = cst.parse_expression("f(a, b=c)")
    assert [type(child) for child in children(node)] == [cst.Name, cst.Arg, cst.Arg]


def test_the_nodes_of_one_class_are_found_in_source_order() -> None:
    node = cst.parse_expression("f(a, g(b))")
    assert [call.func.value for call in find(node, cst.Call) if isinstance(call.func, cst.Name)] == ["f", "g"]
    assert find(node, cst.Attribute) == []


def test_nodes_by_their_class_are_those_of_the_walk_in_its_order(root: Path) -> None:
    tree = cst.parse_module((root / "graphdoctor" / "syntax" / "walk.py").read_text())
    sorted_nodes = by_class(tree)
    assert sum(map(len, sorted_nodes.values())) == len(list(walk(tree)))
    assert all(
        list(map(id, nodes)) == [id(n) for n in walk(tree) if type(n) is kind] for kind, nodes in sorted_nodes.items()
    )
