"""What the name ``torch`` stands for in a file, and where an ``import torch`` would go."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import libcst as cst

from graphdoctor.syntax.walk import children, walk
from graphdoctor.syntax.written import Written

Binding = Literal["bound", "absent", "shadowed"]


#: ``global torch`` in a function, and what stores under that name: ``globals()["torch"] = ...``.
_GLOBAL = re.compile(r"global(?<!\wglobal)\b[^\n]*\btorch\b")
_STORED = re.compile(r"[\[(]\s*['\"]torch['\"]\s*\]\s*=[^=]")
#: The end of ``_STORED``, looked for first: a search for a pattern that begins with plain text is many times as fast.
_STORED_THERE = re.compile(r"torch['\"]\s*\]\s*=")


def at_module_level(module: Written) -> Binding:
    """Whether ``torch`` is the real module at module level.

    An import that may not run, under a condition or after the call that needs it, does not count: see ``import_of``.
    """
    if False in set(_bindings(module.tree.body)) or _bound_from_afar(module):
        return "shadowed"
    return "bound" if import_of(module.tree) is not None else "absent"


def _bound_from_afar(module: Written) -> bool:
    """Whether code that does not stand at module level binds ``torch`` there."""
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
    """Whether ``node`` is a comprehension or a class with a ``torch`` of its own."""
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


@dataclass(frozen=True)
class ImportPlace:
    """Where ``import torch`` goes: beside ``statement``, None in an empty file, as a group of its own or not."""

    statement: cst.CSTNode | None
    is_below: bool = False
    is_apart: bool = False


def import_position(tree: cst.Module, path: str = "") -> ImportPlace:
    """The place for ``import torch``, where it sorts among the imports of other packages at the top of the file.

    Right before the first import from torch; else before those of the package that the file at ``path`` belongs to,
    and after those of Python, the docstring and ``from __future__``.
    """
    own = set(re.split(r"[/\\]", path)[:-1])
    head: list[cst.CSTNode] = []
    foreign: list[cst.SimpleStatementLine] = []
    standard: list[cst.SimpleStatementLine] = []
    ours: list[cst.SimpleStatementLine] = []
    for position, statement in enumerate(tree.body):
        if not isinstance(statement, cst.SimpleStatementLine):
            break
        first = statement.body[0]
        package = source(first).partition(".")[0] if isinstance(first, (cst.Import, cst.ImportFrom)) else ""
        if isinstance(first, cst.ImportFrom) and package == "torch":
            return ImportPlace(statement)
        is_docstring = position == 0 and isinstance(first, cst.Expr) and isinstance(first.value, cst.BaseString)
        if not (is_docstring or isinstance(first, (cst.Import, cst.ImportFrom))):
            break
        if is_docstring or package == "__future__":
            head.append(statement)
        else:
            is_ours = not package or package in own
            (standard if package in sys.stdlib_module_names else ours if is_ours else foreign).append(statement)
    smaller = [line for line in foreign if isinstance(line.body[0], cst.Import) and source(line.body[0]) < "torch"]
    if foreign:
        return ImportPlace(smaller[-1], is_below=True) if smaller else ImportPlace(foreign[0])
    if standard:
        return ImportPlace(standard[-1], is_below=True, is_apart=True)
    if ours:
        return ImportPlace(ours[0], is_apart=True)
    if head:
        return ImportPlace(head[-1], is_below=True)
    return ImportPlace(tree.body[0] if tree.body else None)


def _bindings(body: Sequence[cst.CSTNode]) -> Iterator[bool]:
    """For each binding of ``torch`` in a scope: whether it is the real module."""
    for node in body:
        yield from _bindings_of(node)


def _bindings_of(node: cst.CSTNode) -> Iterator[bool]:
    """``_bindings`` of one node and all below it that is in the same scope."""
    if type(node) in _PLAIN:
        return
    binds = _BINDS.get(type(node))
    yield from _bindings(children(node)) if binds is None else binds(node)


def _in_import(node: cst.Import) -> Iterator[bool]:
    for alias in node.names:
        if alias.asname is not None:
            if _is_torch(alias.asname.name):
                yield _dotted(alias.name) == "torch"
        elif _package(alias.name) == "torch":
            yield True


def _in_import_from(node: cst.ImportFrom) -> Iterator[bool]:
    for alias in () if isinstance(node.names, cst.ImportStar) else node.names:
        if _is_torch(alias.asname.name if alias.asname is not None else alias.name):
            yield False


def _in_definition(node: cst.FunctionDef | cst.ClassDef | cst.TypeAlias) -> Iterator[bool]:
    if _is_torch(node.name):
        yield False


def _in_target(node: cst.Del | cst.AsName) -> Iterator[bool]:
    if any(_is_torch(name) for name in _names(node.target if isinstance(node, cst.Del) else node.name)):
        yield False


def _in_assignment(node: cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.NamedExpr) -> Iterator[bool]:
    if any(_is_torch(name) for name in _names(node.target)):
        yield False
    yield from _bindings(children(node))


def _in_pattern(node: cst.MatchAs | cst.MatchStar | cst.MatchMapping) -> Iterator[bool]:
    if _is_torch(node.rest if isinstance(node, cst.MatchMapping) else node.name):
        yield False
    yield from _bindings(children(node))


def _in_comprehension(node: cst.BaseComp) -> Iterator[bool]:
    """The names of a comprehension are its own, except those that a walrus in it binds."""
    if any(isinstance(inner, cst.NamedExpr) and _is_torch(inner.target) for inner in walk(node)):
        yield False


def _in_if(node: cst.If) -> Iterator[bool]:
    """Of ``if TYPE_CHECKING:`` only the other branch runs."""
    if not _is_type_checking(node.test):
        yield from _bindings(children(node))
    elif node.orelse is not None:
        yield from _bindings_of(node.orelse)


def _nothing(_node: cst.CSTNode) -> Iterator[bool]:
    return iter(())


#: Nodes that neither bind a name nor hold nodes that do: half of all nodes, and quickly recognised.
_PLAIN = frozenset((cst.Name, cst.SimpleString, cst.Integer, cst.Float))
#: The bindings in nodes that bind names, keep their names to themselves, or decide whether names are bound. What stands
#: in any other node is in the same scope. After ``global torch``, the module level says what the name stands for.
_BINDS: dict[type[cst.CSTNode], Callable[[Any], Iterator[bool]]] = {
    cst.Import: _in_import,
    cst.ImportFrom: _in_import_from,
    **dict.fromkeys((cst.FunctionDef, cst.ClassDef, cst.TypeAlias), _in_definition),
    **dict.fromkeys((cst.Del, cst.AsName), _in_target),
    **dict.fromkeys((cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr), _in_assignment),
    **dict.fromkeys((cst.MatchAs, cst.MatchStar, cst.MatchMapping), _in_pattern),
    **dict.fromkeys((cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp), _in_comprehension),
    cst.If: _in_if,
    **dict.fromkeys((cst.Lambda, cst.Global), _nothing),
}


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


def source(statement: cst.Import | cst.ImportFrom) -> str:
    """The dotted module of the first import in ``statement``; dots for one of its own package."""
    if isinstance(statement, cst.Import):
        return _dotted(statement.names[0].name)
    return "." * len(statement.relative) + _dotted(statement.module)


def _dotted(node: cst.CSTNode | None) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""
