"""``__getattr__ = dict.get`` as a method of Python, which Dynamo traces."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.events import GetAttr, SetAttr
from graphdoctor.static.domain.values import Instance
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

_PARAMETERS = {"__getattr__": "name", "__setattr__": "name, value"}


def written_in_python(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The line of the class that puts a method of ``dict`` in the place of the hit's ``__getattr__``, as a ``def``."""
    event = hit.event
    assert isinstance(event, (GetAttr, SetAttr)) and isinstance(event.receiver, Instance)
    name = "__getattr__" if isinstance(event, GetAttr) else "__setattr__"
    owner = next(info for info in event.receiver.info.mro if name in info.attrs)
    if owner.module.source.file != event.site.module.file:
        return Refusal("The class is defined in another file: write its method in Python there.")
    classes = [node for node in editor.every(cst.ClassDef) if node.name.value == owner.name]
    found = [line for node in classes for line in _lines(node, name)]
    if len(classes) != 1 or len(found) != 1:
        return Refusal("The method is not given in a line of its own, in the one class of this name.")
    assign = found[0]
    parameters = _PARAMETERS[name]
    call = f"{editor.code(assign.value)}(self, {parameters})"
    lines = editor.lines(
        editor.indent_of(assign),
        f"def {name}(self, {parameters}):",
        f"\treturn {call}" if name == "__getattr__" else f"\t{call}",
    )
    return FixPlan((editor.replace(assign, lines),), "safe", "The same method of `dict` is called, from Python.")


def _lines(node: cst.ClassDef, name: str) -> Iterator[cst.Assign]:
    """The lines of a class that are ``name = dict.get`` and nothing else."""
    for line in find(node.body, cst.SimpleStatementLine):
        only = line.body[0] if len(line.body) == 1 else None
        if isinstance(only, cst.Assign) and len(only.targets) == 1 and isinstance(only.value, cst.Attribute):
            target = only.targets[0].target
            if isinstance(target, cst.Name) and target.value == name:
                yield only
