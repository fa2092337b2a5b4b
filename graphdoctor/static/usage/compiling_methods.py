"""Which methods of a class compile something: they come first, since the others may use what they store."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from graphdoctor.static.usage.events import Function, dotted
from graphdoctor.static.usage.outline import outline, part
from graphdoctor.static.usage.relevance import Relevance
from graphdoctor.syntax.walk import find


def compiling_methods(methods: Iterable[Function], relevance: Relevance) -> frozenset[Function]:
    """Methods whose text concerns the compiler or that store the result of a function that compiles, and their
    callers."""
    outlined = [method for method in methods if method.qualname in outline(method.module).functions]
    parts = {method: part(method.module, method.qualname) for method in outlined}
    found = frozenset(method for method in outlined if parts[method].compiles or _stores(method, relevance))
    while True:
        names = {method.qualname.rpartition(".")[2] for method in found}
        more = found | {method for method, text in parts.items() if text.names & names}
        if more == found:
            return found
        found = more


def _stores(method: Function, relevance: Relevance) -> bool:
    """Whether a method stores the result of a function that uses the compiler: ``self.model = get_model()``."""
    if isinstance(method.node, cst.Lambda):
        return False
    assigned = find(method.module.body(method.node), cst.Assign)
    kept = [each.value for each in assigned if any(isinstance(one.target, cst.Attribute) for one in each.targets)]
    called = [dotted(call.func) for value in kept for call in find(value, cst.Call)]
    return any(relevance.compiles(method.module, name) for name in called if name)
