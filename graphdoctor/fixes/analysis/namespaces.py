"""What a plain name means at a place: which scope binds it, and whether the module surely does.

Names are compared as Python does: a name is normalised (NFKC), and ``__x`` in a class is mangled.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.syntax.walk import walk
from graphdoctor.syntax.written import Written

#: Functions that read the variables of a function without naming them.
READS_LOCALS = ("locals", "vars", "eval", "exec", "dir")
_SCOPES = (cst.FunctionDef, cst.Lambda, cst.BaseComp, cst.ClassDef)


#: The nodes that bind names. The type is looked up first: ``isinstance`` asks the metaclass of libcst's classes.
_NAMED: frozenset[type[cst.CSTNode]] = frozenset((cst.Param, cst.FunctionDef, cst.ClassDef))
_WITH_TARGET: frozenset[type[cst.CSTNode]] = frozenset((
    cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr, cst.Del,
))  # fmt: skip
_BINDING: frozenset[type[cst.CSTNode]] = _NAMED | _WITH_TARGET | frozenset((
    cst.AsName, cst.Import, cst.ImportFrom, cst.MatchAs, cst.MatchStar, cst.MatchMapping, cst.TypeVar,
    cst.TypeVarTuple, cst.ParamSpec, cst.TypeAlias, cst.Global, cst.Nonlocal,
))  # fmt: skip


def normalised(name: str) -> str:
    """``name`` as Python stores it."""
    return unicodedata.normalize("NFKC", name)


def is_global_at(name: str, place: cst.CSTNode, editor: Editor) -> bool:
    """Whether the word ``name``, written at ``place``, would read the module's global of just that name."""
    if not name.isidentifier() or keyword.iskeyword(name) or name == "__debug__" or normalised(name) != name:
        return False
    scopes = [node for node in editor.ancestors(place) if isinstance(node, _SCOPES)]
    if name.startswith("__") and not name.endswith("__") and any(isinstance(s, cst.ClassDef) for s in scopes):
        return False
    return not any(name in _bound_in(scope) for scope in scopes)


def is_builtin(name: str, editor: Editor) -> bool:
    """Whether ``name`` stands for the builtin in the whole file: nothing binds it, and no star import may."""
    if not hasattr(builtins, name):
        return False
    names = _names(editor)
    return not names.bound[name] and not (names.has_star and editor.may_come_by_star(name))


def dotted_name(node: cst.BaseExpression, editor: Editor) -> str:
    """The full name of what ``node`` reads, ``time.perf_counter``: of an imported module, a logger or a builtin.

    Empty where anything else in the file binds the name that it begins with.
    """
    attributes: list[str] = []
    while isinstance(node, cst.Attribute):
        attributes.append(node.attr.value)
        node = node.value
    # The names of a whole file are collected only where that can help: ``self`` is a parameter.
    if not isinstance(node, cst.Name) or _is_parameter(node, editor):
        return ""
    origin = _origin(node.value, editor)
    return ".".join([origin, *reversed(attributes)]) if origin else ""


def _is_parameter(node: cst.Name, editor: Editor) -> bool:
    """Whether ``node`` is called like a parameter of the function that it stands in."""
    function = editor.function_of(node)
    return function is not None and any(p.name.value == node.value for p in function.params.params)


def _origin(name: str, editor: Editor) -> str:
    if is_builtin(name, editor):
        return f"builtins.{name}"
    names = _names(editor)
    found, count = set(names.imported.get(name, ())), len(names.imported.get(name, ()))
    if not found and names.bound[name] == 1:
        made = [a for a in editor.assignments(editor.module.tree, name) if isinstance(a, cst.Assign)]
        if len(made) == 1 and isinstance(made[0].value, cst.Call) and not editor.function_of(made[0]):
            called = dotted_name(made[0].value.func, editor)
            found, count = ({called}, 1) if called.endswith(("logging.getLogger", "logging.get_logger")) else (set(), 0)
    return found.pop() if len(found) == 1 and names.bound[name] == count else ""


@dataclass(frozen=True)
class _Names:
    """What a whole file binds: how often each name is bound, and what the imported ones stand for."""

    bound: Counter[str]
    imported: Mapping[str, tuple[str, ...]]
    has_star: bool


_known: WeakKeyDictionary[Written, _Names] = WeakKeyDictionary()


def _names(editor: Editor) -> _Names:
    """The names of a file, collected once: fixes ask for many of them."""
    module = editor.module
    if module not in _known:
        statements: list[cst.Import | cst.ImportFrom] = [*editor.every(cst.Import), *editor.every(cst.ImportFrom)]
        imported: dict[str, tuple[str, ...]] = {}
        for node in statements:
            for name, full in dict.fromkeys(_imports(node)):
                imported[name] = (*imported.get(name, ()), full)
        stars = any(isinstance(node.names, cst.ImportStar) for node in statements)
        bound = Counter(name for kind in _BINDING for node in editor.every(kind) for name in _bound_by(node))
        _known[module] = _Names(bound, imported, stars)
    return _known[module]


def _imports(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, and what they stand for."""
    for alias in node.names if not isinstance(node.names, cst.ImportStar) else ():
        path = _path(alias.name)
        if isinstance(node, cst.ImportFrom):
            module = "." * len(node.relative) + (_path(node.module) if node.module is not None else "")
            full = f"{module}.{path}"
            yield (_path(alias.asname.name) if alias.asname is not None else path), full
        elif alias.asname is not None:
            yield _path(alias.asname.name), path
        else:
            yield path.partition(".")[0], path.partition(".")[0]


def _path(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_path(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def is_always_global(name: str, editor: Editor) -> bool:
    """Whether a statement at module level binds ``name`` whenever the file is imported, and nothing takes it away."""
    tree = editor.module.tree
    if re.search(rf"\b(del|pop|clear|delattr)\b.*['\"]{re.escape(name)}['\"]", editor.module.text):
        return False
    if any(name in _plain_names(node.target) for node in editor.every(cst.Del)):
        return False
    for line in tree.body:
        if isinstance(line, (cst.FunctionDef, cst.ClassDef)) and line.name.value == name:
            return True
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(small, (cst.Assign, cst.Import, cst.ImportFrom)) and name in set(_bindings(small)):
                return True
            if isinstance(small, cst.AnnAssign) and small.value is not None and name in _plain_names(small.target):
                return True
    return False


def is_read(place: cst.BaseExpression, editor: Editor) -> bool:
    """Whether the value at ``place`` is only read: it is no target of an assignment, a loop, a ``del`` or the like."""
    inner: cst.CSTNode = place
    for outer in editor.ancestors(place):
        if isinstance(outer, (cst.AssignTarget, cst.Del)):
            return False
        if isinstance(outer, (cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor, cst.NamedExpr)):
            return outer.target is not inner
        if isinstance(outer, cst.AsName):
            return outer.name is not inner
        if not isinstance(outer, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
            return True
        inner = outer
    return True


def _bound_in(scope: cst.CSTNode) -> frozenset[str]:
    return frozenset(map(normalised, _bindings(scope)))


def _bindings(scope: cst.CSTNode) -> Iterator[str]:
    """The plain names that anything in ``scope`` binds or declares, inner functions too: more than are its own."""
    for node in walk(scope):
        if type(node) in _BINDING and not (node is scope and isinstance(node, (cst.FunctionDef, cst.ClassDef))):
            yield from _bound_by(node)


def _bound_by(node: cst.CSTNode) -> Iterator[str]:
    """The plain names that ``node``, one of ``_BINDING``, binds or declares."""
    kind = type(node)
    if kind in _NAMED:
        yield node.name.value  # type: ignore[attr-defined]
    elif kind in _WITH_TARGET:
        yield from _plain_names(node.target)  # type: ignore[attr-defined]
    elif isinstance(node, cst.AsName):
        yield from _plain_names(node.name)
    elif isinstance(node, (cst.Import, cst.ImportFrom)):
        if not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                if alias.asname is None:
                    yield _first_name(alias.name)
    elif isinstance(node, (cst.MatchAs, cst.MatchStar, cst.TypeVar, cst.TypeVarTuple, cst.ParamSpec, cst.TypeAlias)):
        if node.name is not None:
            yield node.name.value
    elif isinstance(node, cst.MatchMapping):
        if node.rest is not None:
            yield node.rest.value
    elif isinstance(node, (cst.Global, cst.Nonlocal)):
        yield from (item.name.value for item in node.names)


def _plain_names(target: cst.CSTNode) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _plain_names(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from _plain_names(target.value)


def _first_name(node: cst.BaseExpression) -> str:
    """``os`` of ``import os.path``."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""
