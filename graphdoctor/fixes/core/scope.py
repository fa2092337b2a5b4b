"""Names and what binds them inside one function or file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import libcst as cst

from graphdoctor.syntax.walk import walk

#: Nodes that bind names. Comparing classes is ten times as fast as ``isinstance`` of libcst's abstract base classes.
_BINDING = frozenset((cst.Assign, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr, cst.AsName))
_NAMED = frozenset((cst.Param, cst.FunctionDef, cst.ClassDef))


@dataclass(frozen=True)
class Names:
    """By plain name the nodes of one function, loop or file that bind it, and all that mention it, in source order."""

    bound: Mapping[str, list[cst.CSTNode]]
    mentioned: Mapping[str, list[cst.Name]]


def names_in(nodes: Iterable[cst.CSTNode]) -> Names:
    """The names among ``nodes``, which are all those of one scope in source order."""
    bound: defaultdict[str, list[cst.CSTNode]] = defaultdict(list)
    mentioned: defaultdict[str, list[cst.Name]] = defaultdict(list)
    for node in nodes:
        if type(node) is cst.Name:
            mentioned[node.value].append(node)
        elif type(node) in _BINDING:
            for name in {name for target in _targets(node) for name in target_names(target)}:
                bound[name].append(node)
    return Names(dict(bound), dict(mentioned))


def assignments(scope: cst.CSTNode, name: str) -> list[cst.CSTNode]:
    """The nodes in ``scope`` that bind the plain name ``name``, in source order. Of functions, an editor knows them."""
    return names_in(walk(scope)).bound.get(name, [])


def _targets(node: cst.CSTNode) -> list[cst.CSTNode]:
    if isinstance(node, cst.Assign):
        return [target.target for target in node.targets]
    return [node.name if isinstance(node, cst.AsName) else node.target]  # type: ignore[attr-defined]


def target_names(target: cst.CSTNode) -> frozenset[str]:
    """The plain names that an assignment target binds."""
    if isinstance(target, cst.Name):
        return frozenset({target.value})
    if isinstance(target, (cst.Tuple, cst.List)):
        return frozenset(name for element in target.elements for name in target_names(element.value))
    return frozenset()


def bound_names(function: cst.CSTNode) -> frozenset[str]:
    """The names that ``function`` binds anywhere in it: arguments, targets, functions and classes in it."""
    bound: set[str] = set()
    for node in walk(function):
        if type(node) in _NAMED and node is not function:
            bound.add(node.name.value)  # type: ignore[attr-defined]
        elif type(node) in _BINDING:
            bound.update(name for target in _targets(node) for name in target_names(target))
    return frozenset(bound)


def parameters(function: cst.FunctionDef) -> dict[str, cst.BaseExpression | None]:
    """The names of the parameters and their defaults."""
    params = function.params
    return {p.name.value: p.default for p in (*params.posonly_params, *params.params, *params.kwonly_params)}


def names(node: cst.CSTNode) -> frozenset[str]:
    """The plain names that occur in ``node``."""
    return frozenset(n.value for n in walk(node) if type(n) is cst.Name)
