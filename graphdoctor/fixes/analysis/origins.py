"""What a value in a class may come from: names and attributes, through assignments, calls and returns."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.syntax.walk import find, walk


def origins(node: cst.CSTNode, owner: cst.ClassDef) -> frozenset[str]:
    """The names and attributes that ``node`` may depend on, by their spelling: more than it does, but not less."""
    found = _words(node)
    steps = [(names - {"self"}, read) for names, read in _steps(owner)]
    while True:
        more = {word for names, read in steps if found & names for word in read}
        if more <= found:
            return frozenset(found)
        found |= more


def _steps(owner: cst.ClassDef) -> Iterator[tuple[set[str], set[str]]]:
    """What gets a value, and the words in what it gets."""
    for node in walk(owner):
        if isinstance(node, cst.Assign):
            yield {word for target in node.targets for word in _words(target)}, _words(node.value)
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
            yield _words(node.target), _words(node)
        elif isinstance(node, (cst.CompFor, cst.For)):
            yield _words(node.target), _words(node.iter)
        elif isinstance(node, cst.Call):
            # register_buffer("n", value), setattr(self, "n", value)
            named = {a.value.value.strip("\"'") for a in node.args if isinstance(a.value, cst.SimpleString)}
            yield named, _words(node)
    functions, calls = find(owner, cst.FunctionDef), find(owner, cst.Call)
    for function in functions:
        yield {function.name.value}, {word for r in find(function, cst.Return) for word in _words(r)}
        given = [a for call in calls if called(call) == function.name.value for a in call.args]
        yield set(parameters(function)), {word for argument in given for word in _words(argument)}


def _words(node: cst.CSTNode) -> set[str]:
    return {n.value for n in find(node, cst.Name)}
