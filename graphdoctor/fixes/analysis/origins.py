"""What a value in a class may come from: names and attributes, through assignments, calls and returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.syntax.walk import by_class, find

#: An assignment: the names and attributes that get a value, and the words in that value.
Flow = tuple[set[str], set[str]]


def origins(node: cst.CSTNode, flows: Sequence[Flow]) -> frozenset[str]:
    """The names and attributes that ``node`` may depend on, by their spelling: more than it does, but not less.

    ``flows`` are those of the class around it.
    """
    found = _words(node)
    while True:
        more = {word for names, read in flows if found & names for word in read}
        if more <= found:
            return frozenset(found)
        found |= more


def flows_of(owner: cst.ClassDef) -> Sequence[Flow]:
    """What gets a value in a class, and the words in what it gets."""
    return [(names - {"self"}, read) for names, read in _flows(owner)]


def _flows(owner: cst.ClassDef) -> Iterator[Flow]:
    found: Mapping[type[cst.CSTNode], Sequence[Any]] = by_class(owner)
    for node in found.get(cst.Assign, ()):
        yield {word for target in node.targets for word in _words(target)}, _words(node.value)
    for node in chain.from_iterable(found.get(kind, ()) for kind in (cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
        yield _words(node.target), _words(node)
    for node in chain.from_iterable(found.get(kind, ()) for kind in (cst.CompFor, cst.For)):
        yield _words(node.target), _words(node.iter)
    functions = found.get(cst.FunctionDef, ())
    given: dict[str, set[str]] = {function.name.value: set() for function in functions}
    for call in found.get(cst.Call, ()):
        # register_buffer("n", value), setattr(self, "n", value)
        named = {a.value.value.strip("\"'") for a in call.args if isinstance(a.value, cst.SimpleString)}
        if named:
            yield named, _words(call)
        if called(call) in given:
            given[called(call)].update(word for argument in call.args for word in _words(argument))
    for function in functions:
        yield {function.name.value}, {word for r in find(function, cst.Return) for word in _words(r)}
        yield set(parameters(function)), given[function.name.value]


def _words(node: cst.CSTNode) -> set[str]:
    return {n.value for n in find(node, cst.Name)}
