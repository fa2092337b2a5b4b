"""Submodules that a factory makes (``AutoModel.from_config(config.text_config)``), recognised by how they are called.

``self.decoder(states, positions=p)`` calls the one class of the file whose ``forward`` has a parameter ``positions``,
if that takes the other keywords too. Keywords that no class takes, or that several classes take, decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.values import Class, Function, Instance
from graphdoctor.static.interp import definitions, objects
from graphdoctor.static.interp.interpreter import Interpreter


def called_module(interpreter: Interpreter, node: cst.Call, func: cst.Attribute) -> Instance | None:
    """The module that ``func``, an attribute of an object of scanned code, holds; None where it is not known."""
    keywords = {arg.keyword.value for arg in node.args if arg.keyword is not None}
    owner = interpreter.frame.scope.find(func.value.value) if isinstance(func.value, cst.Name) else None
    if not keywords or not interpreter.frame.compiled or not isinstance(owner, Instance) or not owner.info.is_module:
        return None
    takers = list(_takers(owner.info.module))
    having = [[info for info, names, _ in takers if name in names] for name in keywords]
    matching = {id(found[0]): found[0] for found in having if len(found) == 1}
    for info, names, takes_more in takers:
        if list(matching) == [id(info)] and info is not owner.info and (takes_more or keywords <= names):
            return _instance(interpreter, info)
    return None


def _takers(module: ModuleInfo) -> Iterator[tuple[ClassInfo, frozenset[str], bool]]:
    """The module classes of a file, with the parameters of their ``forward``, and whether it takes any keyword."""
    for value in list(module.scope.names.values()):
        if isinstance(value, Class) and value.info.module is module and value.info.is_module:
            forward = value.info.lookup("forward")
            if isinstance(forward, Function):
                params = forward.info.node.params
                names = frozenset(p.name.value for p in definitions.parameters(params))
                yield value.info, names, params.star_kwarg is not None


def _instance(interpreter: Interpreter, info: ClassInfo) -> Instance:
    """An object of ``info``; its constructor is no compiled code."""
    frame = Frame(None, info.module, info.module.scope, info.node, muted=True)
    with interpreter.call(frame):
        made = objects.instantiate(interpreter, info.node, Class(info), (), {})
    return made if isinstance(made, Instance) else Instance(info)
