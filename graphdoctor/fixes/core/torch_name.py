"""What the name ``torch`` stands for in a file, and where an ``import torch`` would go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import libcst as cst

from graphdoctor.syntax.walk import children, walk
from graphdoctor.syntax.written import Written

Binding = Literal["bound", "absent", "shadowed"]


#: A function that binds the name of the module, and code that stores under it.
_GLOBAL = re.compile(r"global(?<!\wglobal)\b[^\n]*\btorch\b")
_STORED = re.compile(r"[\[(]\s*['\"]torch['\"]\s*\]\s*=[^=]")
#: How each such place goes on. A pattern that begins with plain text is searched for many times as fast.
_STORED_THERE = re.compile(r"torch['\"]\s*\]\s*=")


def at_module_level(module: Written) -> Binding:
    """Whether ``torch`` is the real module at module level.

    An import that may not run, under a condition or after the call that needs it, does not count: see ``import_of``.
    """
    if False in set(_bindings(module.tree.body)) or _bound_from_afar(module):
        return "shadowed"
    return "bound" if import_of(module.tree) is not None else "absent"


def _bound_from_afar(module: Written) -> bool:
    return module.has(_GLOBAL) or (module.has(_STORED_THERE) and module.has(_STORED))


def import_of(tree: cst.Module) -> cst.CSTNode | None:
    """The first statement at module level that imports torch whenever the file is imported."""
    return _first_import(tree.body)


def import_in(function: cst.FunctionDef | cst.Lambda) -> cst.CSTNode | None:
    """The statement of ``function`` from which on ``torch`` is the real module, where the function binds it."""
    if isinstance(function, cst.Lambda) or False in set(_bindings(function.body.body)):
        return None
    return _first_import(function.body.body) if not _has_parameter(function) else None


def _first_import(body: Sequence[cst.CSTNode]) -> cst.CSTNode | None:
    for line in body:
        first = line.body.body[0] if isinstance(line, cst.Try) and line.body.body else line
        if isinstance(first, cst.SimpleStatementLine) and True in set(_bindings(first.body)):
            return first
    return None


def is_local(function: cst.FunctionDef | cst.Lambda) -> bool:
    """True when ``torch`` is a parameter or a local name of ``function``."""
    if _has_parameter(function) or isinstance(function, cst.Lambda):
        return _has_parameter(function)
    return bool(set(_bindings(function.body.body)))


def _has_parameter(function: cst.FunctionDef | cst.Lambda) -> bool:
    params = function.params
    every = [*params.params, *params.kwonly_params, *params.posonly_params, params.star_arg, params.star_kwarg]
    return any(isinstance(p, cst.Param) and p.name.value == "torch" for p in every)


def is_clause(node: cst.CSTNode) -> bool:
    """True where a comprehension or a class body has a ``torch`` of its own."""
    if isinstance(node, cst.ClassDef):
        return bool(set(_bindings(node.body.body)))
    if not isinstance(node, cst.BaseComp):
        return False
    return any(isinstance(n, cst.CompFor) and any(_is_torch(t) for t in _names(n.target)) for n in walk(node))


def parts(tree: cst.Module) -> frozenset[str]:
    """The names at module level that stand for torch or a part of it: ``F``, ``nn``, ``where``."""
    found: set[str] = set()
    for line in tree.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, cst.ImportFrom) and not isinstance(statement.names, cst.ImportStar):
                if _package(statement.module) == "torch":
                    found.update(_bound(alias) for alias in statement.names)
            elif isinstance(statement, cst.Import):
                aliases = (alias for alias in statement.names if alias.asname is not None)
                found.update(_bound(alias) for alias in aliases if _package(alias.name) == "torch")
    return frozenset(found)


def import_position(tree: cst.Module) -> tuple[cst.CSTNode | None, cst.CSTNode | None]:
    """The statements (after, before) between which ``import torch`` goes; one of the two is None.

    Right before the first import from torch; else after the imports, the docstring and ``from __future__``.
    """
    after: cst.CSTNode | None = None
    for position, statement in enumerate(tree.body):
        if not isinstance(statement, cst.SimpleStatementLine):
            break
        first = statement.body[0]
        if isinstance(first, cst.ImportFrom) and _package(first.module) == "torch":
            return None, statement
        is_docstring = position == 0 and isinstance(first, cst.Expr) and isinstance(first.value, cst.BaseString)
        if not (is_docstring or isinstance(first, (cst.Import, cst.ImportFrom))):
            break
        after = statement
    return (after, None) if after is not None else (None, tree.body[0] if tree.body else None)


def _bindings(body: Sequence[cst.CSTNode]) -> Iterator[bool]:
    """For each binding of ``torch`` in a scope: whether it is the real module."""
    for node in body:
        yield from _bindings_of(node)


#: What neither binds a name nor holds what does: half of all nodes, and quickly recognised.
_PLAIN = frozenset((cst.Name, cst.SimpleString, cst.Integer, cst.Float))
#: What binds names, keeps its names to itself (lambdas and comprehensions), or decides whether they are bound.
_SPECIAL = frozenset((
    cst.FunctionDef, cst.ClassDef, cst.Import, cst.ImportFrom, cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For,
    cst.NamedExpr, cst.AsName, cst.Global, cst.If, cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp,
    cst.GeneratorExp, cst.Del, cst.MatchAs, cst.MatchStar, cst.MatchMapping, cst.TypeAlias,
))  # fmt: skip


def _bindings_of(node: cst.CSTNode) -> Iterator[bool]:
    if type(node) in _PLAIN:
        return
    if type(node) not in _SPECIAL:
        yield from _bindings(children(node))
    elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        if node.name.value == "torch":
            yield False
    elif isinstance(node, cst.Import):
        for alias in node.names:
            if alias.asname is not None:
                if _is_torch(alias.asname.name):
                    yield _dotted(alias.name) == "torch"
            elif _package(alias.name) == "torch":
                yield True
    elif isinstance(node, cst.ImportFrom):
        if not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                name = alias.asname.name if alias.asname is not None else alias.name
                if _is_torch(name):
                    yield False
    elif isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)):
        if any(_is_torch(n) for n in _names(node.target)):
            yield False
        yield from _bindings(children(node))
    elif isinstance(node, cst.AsName):
        if any(_is_torch(n) for n in _names(node.name)):
            yield False
    elif isinstance(node, cst.Del):
        if any(_is_torch(n) for n in _names(node.target)):
            yield False
    elif isinstance(node, (cst.MatchAs, cst.MatchStar, cst.MatchMapping)):
        if _is_torch(node.rest if isinstance(node, cst.MatchMapping) else node.name):
            yield False
        yield from _bindings(children(node))
    elif isinstance(node, cst.TypeAlias):
        if _is_torch(node.name):
            yield False
    elif isinstance(node, (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)):
        # The names of a comprehension are its own, but for those that a walrus in it binds.
        if any(isinstance(n, cst.NamedExpr) and _is_torch(n.target) for n in walk(node)):
            yield False
    elif isinstance(node, cst.Global):
        # ``global torch``: what it stands for is decided at module level.
        return
    elif isinstance(node, cst.If) and _is_type_checking(node.test):
        if node.orelse is not None:
            yield from _bindings_of(node.orelse)
    elif isinstance(node, cst.If):
        yield from _bindings(children(node))


def _names(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The names that an assignment target binds."""
    if isinstance(target, cst.Name):
        yield target
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _names(element.value)


def _is_torch(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "torch"


def _is_type_checking(test: cst.BaseExpression) -> bool:
    name = test.attr if isinstance(test, cst.Attribute) else test
    return isinstance(name, cst.Name) and name.value == "TYPE_CHECKING"


def _bound(alias: cst.ImportAlias) -> str:
    return _dotted(alias.asname.name if alias.asname is not None else alias.name)


def _package(module: cst.CSTNode | None) -> str:
    return _dotted(module).partition(".")[0]


def _dotted(node: cst.CSTNode | None) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""
