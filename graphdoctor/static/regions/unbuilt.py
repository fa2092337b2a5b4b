"""Classes that compile a part of themselves and that nothing in their file builds, as in a library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import libcst as cst

from graphdoctor.static.domain.events import Compile, Event
from graphdoctor.static.domain.held_objects import held_objects
from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Class, Function, Instance, TorchModule, Value
from graphdoctor.static.interp import calls
from graphdoctor.static.interp.compound_statements import may_compile
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.definitions import defined
from graphdoctor.static.regions.entering import default_module
from graphdoctor.syntax.walk import walk

#: A call of ``compile`` in a text: most files that have the word have none. A pattern that begins with plain text is
#: searched for many times as fast.
_CALLED = re.compile(r"\.compile(?<!\bre\.compile)\s*\(")

#: The methods that are compiled in place of a module.
_WHOLE = ("forward", "__call__", "_call_impl")


def build_unbuilt(interpreter: Interpreter, module: ModuleInfo, compiles: list[Event]) -> list[ClassInfo]:
    """Build the classes that compile something of their own, as users of a library do in other files.

    Returns the modules among them that compile a part of themselves: their ``forward`` is code around it.
    """
    around = []
    for value, methods in _classes_that_compile(module, {event.node for event in compiles}):
        known = len(compiles)
        made = default_module(interpreter, value.info)
        for method in methods:
            calls.apply(interpreter, method.info.node, calls.bind(method, made), (), {})
        found = (event.target for event in compiles[known:] if isinstance(event, Compile))
        if value.info.is_module and any(_is_part(target, made) for target in found):
            around.append(value.info)
    return around


def is_around(info: ClassInfo, made: Instance | None, around: Collection[ClassInfo]) -> bool:
    """Whether an object of ``info``, such as ``made``, is of a class in ``around``, or holds an object of one."""
    parts = held_objects(made) if made is not None else ()
    return any(base in around for one in (info, *(part.info for part in parts)) for base in one.mro)


def _classes_that_compile(module: ModuleInfo, seen: Collection[cst.CSTNode]) -> Iterator[tuple[Class, list[Function]]]:
    """The classes of the file with a call of ``compile`` that is not among ``seen``, and their methods that have one.

    A constructor is none of these methods: who builds the class calls it.
    """
    if not _CALLED.search(module.source.text):
        return
    for _, value in defined(module):
        if not isinstance(value, Class) or value.info.module is not module:
            continue
        functions = [
            option
            for attribute in value.info.attrs.values()
            for option in options(attribute)
            if isinstance(option, Function) and _compiles(option.info.body, seen)
        ]
        if functions:
            yield value, [function for function in functions if function.info.name != "__init__"]


def _is_part(target: Value, whole: Instance) -> bool:
    """Whether ``target`` is a module that ``whole`` made or got, or a method of one or of ``whole`` itself."""
    for option in options(target):
        holder = option.bound if isinstance(option, Function) else option
        is_module = isinstance(holder, TorchModule) or (isinstance(holder, Instance) and holder.info.is_module)
        if is_module and (holder is not whole or (isinstance(option, Function) and option.info.name not in _WHOLE)):
            return True
    return False


def _compiles(body: cst.CSTNode, seen: Collection[cst.CSTNode]) -> bool:
    return any(type(node) is cst.Call and node not in seen and may_compile(node) for node in walk(body))
