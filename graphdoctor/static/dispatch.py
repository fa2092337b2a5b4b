"""Decorators that look up what runs in place of what they decorate, which is only the default of that lookup.

``chosen = table.get(self.config.kind, original)`` and ``chosen(self, x)``: unless a file says what the setting ``kind``
is, it is not known whether ``original`` ever runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import libcst as cst

from graphdoctor.source.walk import walk

#: Marks a function that runs only where the lookup of its decorator finds nothing else.
DEFAULT_OF_LOOKUP = "default-of-lookup"


def looked_up(decorator: cst.FunctionDef, body: cst.CSTNode) -> Mapping[str, str]:
    """What ``decorator`` makes the default of a lookup: names of methods of a class, "" for a function it decorates.

    Each with the attribute that the lookup asks for.
    """
    nodes = list(walk(body))
    originals = dict.fromkeys(_decorated(decorator, nodes), "")
    made: dict[str, cst.BaseExpression] = {}
    for node in nodes:
        if type(node) is cst.Assign and type(node.targets[0].target) is cst.Name:
            made[node.targets[0].target.value] = node.value
            if type(node.value) is cst.Attribute:
                originals[node.targets[0].target.value] = node.value.attr.value
    callees = [node.func for node in nodes if type(node) is cst.Call]
    called = {callee.value for callee in callees if type(callee) is cst.Name}
    found: dict[str, str] = {}
    for callee in callees:
        lookup = made.get(callee.value) if type(callee) is cst.Name else callee
        if type(lookup) is not cst.Call or len(lookup.args) < 2 or not _gets(lookup.func):
            continue
        asked, default = lookup.args[0].value, lookup.args[-1].value
        name = default.value if type(default) is cst.Name else ""
        if type(asked) is cst.Attribute and name in originals and name not in called:
            found[originals[name]] = asked.attr.value
    return found


def names(text: str, asked: str) -> bool:
    """Whether ``text`` has the name of what a lookup asks for, ``_kind``, also in ``kind=`` or ``choose_kind``."""
    return re.search(rf"(?<![a-zA-Z]){re.escape(asked.strip('_'))}(?![a-zA-Z])", text) is not None


def _decorated(decorator: cst.FunctionDef, nodes: Sequence[cst.CSTNode]) -> list[str]:
    """The names that a decorator, or the one that it makes, has for what it decorates."""
    makers = [decorator, *(node for node in nodes if type(node) is cst.FunctionDef and _makes_function(node))]
    return [maker.params.params[0].name.value for maker in makers if maker.params.params]


def _makes_function(node: cst.FunctionDef) -> bool:
    return any(type(inner) is cst.FunctionDef for inner in walk(node.body))


def _gets(func: cst.BaseExpression) -> bool:
    """Whether a call of ``func`` looks something up, as far as its name tells: ``table.get``, ``get_kernel``."""
    name = func.attr if type(func) is cst.Attribute else func
    return type(name) is cst.Name and name.value.startswith("get")
