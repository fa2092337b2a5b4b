"""Entering a region: the function that runs when what is compiled is called, with arguments that users may give it."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.held_objects import note_passed
from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import (
    CHILDREN,
    NONE,
    STAR,
    UNKNOWN,
    Class,
    Compiled,
    ExternalObject,
    Function,
    Instance,
    Partial,
    Seq,
    Value,
)
from graphdoctor.static.interp import arguments, calls, definitions, iteration, objects
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.assumed_arguments import BY_CUSTOM, assumed_arguments
from graphdoctor.static.regions.definitions import defined
from graphdoctor.static.regions.offered import NO_METHODS, has_forward
from graphdoctor.static.regions.setters import may_be_set, or_given
from graphdoctor.static.regions.wrapped import arguments_for, innermost


def enter(
    interpreter: Interpreter,
    module: ModuleInfo,
    target: Value,
    args: tuple[Value, ...] | None = None,
    kwargs: dict[str, Value] | None = None,
    again: bool = False,
) -> bool:
    """Interpret ``target`` as a compiled region. False when it is not scanned code.

    Without arguments, functions that other regions called are entered again only with ``again``.
    """
    if isinstance(target, Compiled):
        return any(enter(interpreter, module, option, args, kwargs) for option in options(target.target))
    if isinstance(target, Class) and target.info.is_module:
        return enter(interpreter, module, default_module(interpreter, target.info), args, kwargs)
    if isinstance(target, ExternalObject) and target.build and args is None:
        # A library's wrapper around a function or a model, which it calls: ``TensorDictModule(update, ...)``.
        record = interpreter.library_objects.record(target)
        wrapped = record.args[:1] if record is not None else ()
        entered = [enter(interpreter, module, option) for value in wrapped for option in options(value)]
        return any(entered)
    if isinstance(target, Partial):
        return _enter_partial(interpreter, module, target, args, kwargs)
    replaced = target.attrs.get("forward", UNKNOWN) if isinstance(target, Instance) else UNKNOWN
    if any(isinstance(option, (Function, Partial)) for option in options(replaced)):
        entered = [enter(interpreter, module, option, args, kwargs, again) for option in options(replaced)]
        return any(entered)
    function = entry_function(target)
    if function is None:
        return False
    if args is None and not again and was_called(interpreter, function):
        return True
    if "disable" in function.info.markers:
        # Nothing of it is compiled.
        return True
    if function.bound is None and function.info.owner is not None and not function.info.markers & NO_METHODS:
        function = function.to(default_module(interpreter, function.info.owner))
    frame = Frame(function=None, module=module, scope=module.scope, statement=function.info.node, compiled=True)
    interpreter.stores.assigned_first = set()
    with interpreter.call(frame):
        if args is None:
            inside = innermost(function)
            args, kwargs = arguments_for(function, assumed_arguments(interpreter, inside))
            args += _rest(inside)
        note_passed(function, (*args, *(kwargs or {}).values()))
        calls.call_function(interpreter, function.info.node, function, args, kwargs or {})
    return True


def _enter_partial(
    interpreter: Interpreter,
    module: ModuleInfo,
    target: Partial,
    args: tuple[Value, ...] | None,
    kwargs: dict[str, Value] | None,
) -> bool:
    """Enter ``functools.partial(function, scale=2)``: what it does not give, users give."""
    function = target.function
    given = {**dict(target.kwargs), **(kwargs or {})}
    if args is not None:
        return enter(interpreter, module, function, (*target.args, *args), given)
    if not isinstance(function, Function):
        return False
    names = [param.name.value for param in definitions.parameters(function.info.node.params)]
    named = dict(zip(names[function.bound is not None :], target.args, strict=False))
    assumed = assumed_arguments(interpreter, function)
    return enter(interpreter, module, function, (), {**assumed, **named, **given})


def _rest(function: Function) -> tuple[Value, ...]:
    """Further arguments that users may pass to a function with ``*args``."""
    params = function.info.node.params
    return (Seq(STAR, None, UNKNOWN),) if isinstance(params.star_arg, cst.Param) else ()


def enter_sequences(interpreter: Interpreter, module: ModuleInfo, held: set[int]) -> None:
    """Enter the forwards that a class without one of its own runs: ``class Net(nn.Sequential)``.

    Left out are those in ``held``, by id, which others build, and those that hold no module of scanned code.
    """
    for _, value in defined(module):
        if isinstance(value, Class) and value.info.module is module and id(value.info) not in held:
            _enter_sequence(interpreter, module, value.info)


def _enter_sequence(interpreter: Interpreter, module: ModuleInfo, info: ClassInfo) -> None:
    if not info.is_module or has_forward(info) or not any(base.endswith(".Sequential") for base in info.externals):
        return
    made = default_module(interpreter, info)
    children = iteration.elements(interpreter, None, made.attrs.get(CHILDREN, UNKNOWN))[0] or []
    first = entry_function(children[0]) if children else None
    if not any(isinstance(option, Instance) for child in children for option in options(child)):
        return
    assumed = list(assumed_arguments(interpreter, innermost(first)).values()) if first is not None else []
    frame = Frame(function=None, module=module, scope=module.scope, statement=info.node, compiled=True)
    with interpreter.call(frame):
        calls.apply(interpreter, info.node, made, (*assumed, BY_CUSTOM)[:1], {})


def entry_function(target: Value) -> Function | None:
    """The function that runs when ``target`` is called."""
    if isinstance(target, Function):
        return target
    if isinstance(target, Instance):
        for name in ("__call__", "forward") if target.info.has_own_call() else ("forward",):
            found = target.info.lookup(name)
            for option in options(found) if found is not None else ():
                if isinstance(option, Compiled):
                    option = options(option.target)[0]
                if isinstance(option, Function):
                    return option.to(target)
    return None


def compiled_steps(target: Value) -> list[Function]:
    """The methods that a trainer compiles with the forward of ``target``: ``training_step`` of a LightningModule."""
    if not isinstance(target, Instance) or not target.info.derives(*torch_tables.STEPPED):
        return []
    found = (target.info.lookup(name) for name in torch_tables.STEPS)
    return [step.to(target) for step in found if isinstance(step, Function)]


def default_module(interpreter: Interpreter, info: ClassInfo) -> Instance:
    """An object of a module class made with unknown arguments (the values of their annotations and defaults)."""
    made = objects.instantiate(interpreter, info.node, Class(info), (), _optional(interpreter, info))
    module = made if isinstance(made, Instance) else Instance(info)
    may_be_set(module)
    return module


def _optional(interpreter: Interpreter, info: ClassInfo) -> dict[str, Value]:
    """The arguments of a constructor that have defaults: each is its default, or another value that users may pass.

    Users may pass a value of the annotated type in place of None, the other state of a flag, and another factor than 0
    or 1.0.
    """
    init = info.lookup("__init__")
    if not isinstance(init, Function):
        return {}
    arguments_by_name: dict[str, Value] = {}
    for param in definitions.parameters(init.info.node.params):
        default = init.info.defaults.get(param.name.value)
        if default == NONE and param.annotation is not None:
            declared = arguments.annotated_value(interpreter, init.info, param.annotation.annotation)
            arguments_by_name[param.name.value] = join(declared, NONE)
        elif default is not None and or_given(default) is not default:
            arguments_by_name[param.name.value] = or_given(default)
    return arguments_by_name


def was_called(interpreter: Interpreter, function: Function) -> bool:
    """Whether ``function`` was interpreted in compiled code, a method for an object of the same class."""
    function = innermost(function)
    if isinstance(function.bound, Instance):
        return (id(function.info), id(function.bound.info)) in interpreter.reached.methods
    return id(function.info) in interpreter.reached.functions
