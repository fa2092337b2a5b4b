"""Names and what binds them inside one function or file."""

from __future__ import annotations

import libcst as cst

from graphdoctor.source.walk import walk


def assignments(scope: cst.CSTNode, name: str) -> list[cst.CSTNode]:
    """The nodes in ``scope`` that bind the plain name ``name``, in source order."""
    found: list[cst.CSTNode] = []
    for node in walk(scope):
        targets: list[cst.CSTNode] = []
        if isinstance(node, cst.Assign):
            targets = [t.target for t in node.targets]
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)):
            targets = [node.target]
        elif isinstance(node, cst.AsName):
            targets = [node.name]
        if any(name in target_names(t) for t in targets):
            found.append(node)
    return found


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
        if isinstance(node, cst.Param):
            bound.add(node.name.value)
        elif isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)):
            bound |= target_names(node.target)
        elif isinstance(node, cst.AsName):
            bound |= target_names(node.name)
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)) and node is not function:
            bound.add(node.name.value)
    return frozenset(bound)


def parameters(function: cst.FunctionDef) -> dict[str, cst.BaseExpression | None]:
    """The names of the parameters and their defaults."""
    params = function.params
    return {p.name.value: p.default for p in (*params.posonly_params, *params.params, *params.kwonly_params)}


def names(node: cst.CSTNode) -> frozenset[str]:
    """The plain names that occur in ``node``."""
    return frozenset(n.value for n in walk(node) if isinstance(n, cst.Name))
