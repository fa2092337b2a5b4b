"""What decorators of other modules, whose bodies are not interpreted, do to what they decorate.

Most change nothing that a trace sees. Some mark a function as one whose result is a constant. Some put a lookup before
it, ``chosen = table.get(self.config.kind, original)`` and ``chosen(self, x)``: unless a file says what the setting
``kind`` is, it is not known whether ``original`` ever runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.syntax.walk import walk

#: Marks a function that runs only where the lookup of its decorator finds nothing else.
DEFAULT_OF_LOOKUP = "default-of-lookup"

#: The attribute by which ``torch.compiler.assume_constant_result`` marks a function.
_CONSTANT = "_dynamo_marked_constant"


@dataclass(frozen=True)
class Effect:
    """What the decorator ``name`` does.

    ``lookups`` has what it makes the default of a lookup, names of methods of a class, or "" for a function that it
    decorates, each with the attribute that the lookup asks for.
    """

    name: str
    constant: bool
    lookups: Mapping[str, str]

    def defaults(self, text: str) -> list[str]:
        """What runs only where a lookup finds nothing else, if the file that is decorated holds ``text``.

        A file that names that attribute, ``_kind``, also in ``kind=`` or ``choose_kind``, makes its own choice.
        """
        elsewhere = text.replace(self.name, "") if self.lookups else ""
        return [name for name, attribute in self.lookups.items() if not _names(elsewhere, attribute.strip("_"))]


NOTHING = Effect("", False, {})


def effect(decorator: cst.FunctionDef, body: cst.CSTNode) -> Effect:
    """What ``decorator`` does, as far as its ``body`` shows."""
    nodes = list(walk(body))
    return Effect(decorator.name.value, any(map(_marks_constant, nodes)), _lookups(decorator, nodes))


def _marks_constant(node: cst.CSTNode) -> bool:
    if type(node) is cst.SimpleString:
        return node.evaluated_value == _CONSTANT
    return type(node) is cst.Attribute and node.attr.value == _CONSTANT


def _lookups(decorator: cst.FunctionDef, nodes: Sequence[cst.CSTNode]) -> dict[str, str]:
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
        lookup_name, default = lookup.args[0].value, lookup.args[-1].value
        name = default.value if type(default) is cst.Name else ""
        if type(lookup_name) is cst.Attribute and name in originals and name not in called:
            found[originals[name]] = lookup_name.attr.value
    return found


def _decorated(decorator: cst.FunctionDef, nodes: Sequence[cst.CSTNode]) -> list[str]:
    """The names that a decorator, or the one that it makes, has for what it decorates."""
    makers = [decorator, *(node for node in nodes if type(node) is cst.FunctionDef and _makes_function(node))]
    return [maker.params.params[0].name.value for maker in makers if maker.params.params]


def _makes_function(node: cst.FunctionDef) -> bool:
    return any(type(inner) is cst.FunctionDef for inner in walk(node.body))


def _gets(func: cst.BaseExpression) -> bool:
    """Whether a call of ``func`` looks something up, judging by its name: ``table.get``, ``get_kernel``."""
    name = func.attr if type(func) is cst.Attribute else func
    return type(name) is cst.Name and name.value.startswith("get")


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![a-zA-Z]){re.escape(name)}(?![a-zA-Z])", text) is not None
