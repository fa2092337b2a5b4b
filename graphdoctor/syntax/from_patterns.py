"""The libcst node of each kind of pattern in a ``match`` statement; see ``from_ast``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import libcst as cst

from graphdoctor.syntax import nodes
from graphdoctor.syntax.nodes import maker

if TYPE_CHECKING:
    from graphdoctor.syntax.from_ast import Builder

_value = maker(cst.MatchValue, "value")
_singleton = maker(cst.MatchSingleton, "value")
_list = maker(cst.MatchList, "patterns")
_item = maker(cst.MatchSequenceElement, "value")
_star = maker(cst.MatchStar, "name")
_mapping = maker(cst.MatchMapping, "elements", "rest")
_mapping_item = maker(cst.MatchMappingElement, "key", "pattern")
_class = maker(cst.MatchClass, "cls", "patterns", "kwds")
_keyword = maker(cst.MatchKeywordElement, "key", "pattern")
_as = maker(cst.MatchAs, "pattern", "name")
_or = maker(cst.MatchOr, "patterns")
_choice = maker(cst.MatchOrElement, "pattern")


def pattern(builder: Builder, node: ast.pattern) -> Any:
    """The libcst pattern of ``node``."""
    made = _pattern(builder, node)
    builder.origin[id(made)] = node
    return made


def _pattern(builder: Builder, node: ast.pattern) -> Any:
    if isinstance(node, ast.MatchValue):
        return _value(builder.expression(node.value))
    if isinstance(node, ast.MatchSingleton):
        return _singleton(nodes.name(str(node.value)))
    if isinstance(node, ast.MatchSequence):
        return _list(_items(builder, node.patterns))
    if isinstance(node, ast.MatchStar):
        return _star(_name(node.name))
    if isinstance(node, ast.MatchMapping):
        keys = [builder.expression(key) for key in node.keys]
        items = [_mapping_item(k, pattern(builder, p)) for k, p in zip(keys, node.patterns, strict=True)]
        return _mapping(items, _name(node.rest))
    if isinstance(node, ast.MatchClass):
        pairs = zip(node.kwd_attrs, node.kwd_patterns, strict=True)
        keywords = [_keyword(nodes.name(k), pattern(builder, p)) for k, p in pairs]
        return _class(builder.expression(node.cls), _items(builder, node.patterns), keywords)
    if isinstance(node, ast.MatchAs):
        return _as(None if node.pattern is None else pattern(builder, node.pattern), _name(node.name))
    assert isinstance(node, ast.MatchOr)
    return _or([_choice(pattern(builder, p)) for p in node.patterns])


def _items(builder: Builder, patterns: list[ast.pattern]) -> list[Any]:
    return [pattern(builder, p) if isinstance(p, ast.MatchStar) else _item(pattern(builder, p)) for p in patterns]


def _name(text: str | None) -> Any:
    return None if text is None else nodes.name(text)
