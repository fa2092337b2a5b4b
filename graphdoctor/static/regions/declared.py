"""Functions and methods that say by their annotations that they take or give tensors, or give none."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.program import FunctionInfo, ModuleInfo
from graphdoctor.static.domain.value_functions import holds_only_tensors, options
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Const,
    Function,
    Instance,
    Mapping,
    PythonValue,
    Seq,
    Value,
)
from graphdoctor.static.interp import arguments, definitions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.data_transforms import FILLING, draws
from graphdoctor.static.regions.definitions import defined
from graphdoctor.static.regions.offered import (
    has_forward,
    is_of_tensors,
    is_sure_tensor,
    public_functions,
)
from graphdoctor.syntax.walk import walk


def functions_of_tensors(interpreter: Interpreter, module: ModuleInfo) -> Iterator[Function]:
    """The functions of a module of a package that take and give tensors by their annotations, as the helpers do that
    other modules import: for modules without ``__all__``.

    A private function is one of them where nothing else in its module names it. A script, which no package holds, works
    with its own functions on the host; and what draws random numbers prepares data.
    """
    if not module.package or "__all__" in module.scope.names:
        return
    offered = (name for name, _ in defined(module) if name[:1] != "_" or _is_for_others(module, name))
    for function in public_functions(module, frozenset(offered)):
        if _maps_tensors(interpreter, function.info):
            yield function


def _maps_tensors(interpreter: Interpreter, info: FunctionInfo) -> bool:
    """Whether the first parameter of a function, and its result, are tensors or lists of them by their annotations."""
    needed = [p for p in definitions.parameters(info.node.params) if p.name.value not in info.defaults]
    declared = needed and _takes_tensors(interpreter, info, needed[0].annotation)
    return bool(declared) and _gives_tensors(interpreter, info) and not _draws(info)


def promises_a_tensor(interpreter: Interpreter, method: Function) -> bool:
    """Whether it is a function that takes and gives tensors, or lists of them, by its annotations.

    Or a method of a module without a forward that returns a tensor by its annotation, and has parameters of which
    nothing is declared.
    """
    bound, info = method.bound, method.info
    if bound is None:
        return _maps_tensors(interpreter, info)
    if not isinstance(bound, Instance) or not bound.info.is_module or has_forward(bound.info) or _draws(info):
        return False
    needed = [p for p in definitions.parameters(info.node.params)[1:] if p.name.value not in info.defaults]
    return bool(needed) and all(p.annotation is None for p in needed) and _gives_tensors(interpreter, info)


def _is_for_others(module: ModuleInfo, name: str) -> bool:
    """Whether the text of ``module`` has a private name only where it is defined, so other modules import it."""
    return len(re.findall(rf"\b{name}\b", module.source.text)) == 1


def _draws(info: FunctionInfo) -> bool:
    """Whether a function draws random numbers, or fills a tensor with them, as those do that set the first weights."""
    nodes = walk(info.body)
    return any(draws(node) or (type(node) is cst.Attribute and node.attr.value in FILLING) for node in nodes)


def _gives_tensors(interpreter: Interpreter, info: FunctionInfo) -> bool:
    """Whether a function promises to return a tensor, or a tuple of tensors."""
    returns = info.node.returns if isinstance(info.node, cst.FunctionDef) and not info.generator else None
    if returns is None:
        return False
    promised = options(arguments.annotated_value(interpreter, info, returns.annotation))
    parts = [part for o in promised for part in ((o.items or (o.element,)) if isinstance(o, Seq) else (o,))]
    return any(map(is_sure_tensor, parts)) and all(map(holds_only_tensors, parts))


def _takes_tensors(interpreter: Interpreter, info: FunctionInfo, annotation: cst.Annotation | None) -> bool:
    """Whether an annotation promises a tensor, or a list of tensors or of such lists."""
    if annotation is None or is_of_tensors(interpreter, info, annotation):
        return annotation is not None
    promised = options(arguments.annotated_value(interpreter, info, annotation.annotation))
    return all(isinstance(option, Seq) and holds_only_tensors(option) for option in promised)


def may_give_tensors(interpreter: Interpreter, function: Function) -> bool:
    """Whether ``function`` returns anything, and its annotation does not exclude tensors."""
    node = function.info.node
    if isinstance(node, cst.Lambda):
        return True
    nodes = walk(function.info.body, stop=(cst.FunctionDef, cst.ClassDef, cst.Lambda))
    returned = [n.value for n in nodes if type(n) is cst.Return and n.value is not None]
    if not returned and not function.info.generator:
        return False
    if node.returns is None:
        return True
    declared = arguments.annotated_value(interpreter, function.info, node.returns.annotation)
    return _may_hold_tensors(declared)


def _may_hold_tensors(declared: Value) -> bool:
    """Whether a declared value is more than Python's numbers and texts, and lists and dicts of them."""
    for part in options(declared):
        held: tuple[Value, ...] = ()
        if isinstance(part, Seq):
            held = (part.element,) if part.items is None else part.items
        elif isinstance(part, Mapping):
            held = (*(value for _, value in part.items), part.rest or UNKNOWN)
        if any(map(_may_hold_tensors, held)) or not isinstance(part, (Const, PythonValue, Seq, Mapping)):
            return True
    return False
