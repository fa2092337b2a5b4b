"""Forward hooks of modules: registering and removing them, and what they do in a call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import (
    HOOKS,
    NONE,
    UNKNOWN,
    Hook,
    Instance,
    Mapping,
    ModulePart,
    Seq,
    TorchModule,
    Value,
)
from graphdoctor.static.interp import assignments, calls, expressions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models.method_call import MethodCall
from graphdoctor.syntax.walk import find


def on_object(interpreter: Interpreter, call: MethodCall, module: Instance) -> Value:
    """Register a hook on a module of scanned code."""
    if module.copies:
        # It has only one of several objects that are made alike.
        return _on_part(interpreter, call, module)
    hook = _hook(call)
    interpreter.hooks.add(hook)
    module.attrs[HOOKS] = Seq("list", (*_of(module), hook))
    return hook


def on_layer(interpreter: Interpreter, call: MethodCall) -> Value:
    """Register a hook on a layer of torch."""
    layer: TorchModule = call.receiver
    held_in = call.written_receiver
    in_loop = isinstance(held_in, cst.Name) and _loop_over(interpreter, held_in.value) is not None
    if isinstance(held_in, (cst.Name, cst.Attribute)) and not in_loop:
        hook = _hook(call)
        interpreter.hooks.add(hook)
        assignments.put_back(interpreter, held_in, replace(layer, hooks=(*layer.hooks, hook)))
        return hook
    return on_unknown(interpreter, call)


def of_part(interpreter: Interpreter, call: MethodCall) -> Value:
    """Call a method of one of the modules that ``model.modules()`` and the like go through."""
    part: ModulePart = call.receiver
    if call.name in torch_tables.FORWARD_HOOKS and not interpreter.frame.compiled and not part.module.copies:
        return _on_part(interpreter, call, part.module)
    return UNKNOWN


def on_unknown(interpreter: Interpreter, call: MethodCall) -> Value:
    """Register a hook on ``model.body[0]`` or the like, where only ``model`` is known."""
    holder = next(_objects_before(interpreter, call.written_receiver), None)
    return UNKNOWN if holder is None else _on_part(interpreter, call, holder)


def of_handle(interpreter: Interpreter, call: MethodCall) -> Value:
    """``handle.remove()``."""
    hook: Hook = call.receiver
    if call.name == "remove" and not interpreter.frame.compiled:
        interpreter.hooks.remove(hook)
    return NONE


def before(
    interpreter: Interpreter, node: cst.CSTNode, module: Instance | TorchModule, args: tuple[Value, ...]
) -> tuple[Value, ...]:
    """The arguments of a call of ``module`` after the hooks that run before it: what one returns replaces them."""
    for hook in _running(interpreter, module, is_before=True):
        returned = _run(interpreter, node, hook, (module, *_given(hook, args)))
        if returned != NONE:
            args = returned.items if isinstance(returned, Seq) and returned.items is not None else (returned,)
    return args


def after(
    interpreter: Interpreter,
    node: cst.CSTNode,
    module: Instance | TorchModule,
    args: tuple[Value, ...],
    result: Value,
) -> Value:
    """``result`` of a call of ``module`` after the hooks that follow it: what one returns replaces it."""
    for hook in _running(interpreter, module, is_before=False):
        returned = _run(interpreter, node, hook, (module, *_given(hook, args), result))
        result = result if returned == NONE else returned
    return result


def _given(hook: Hook, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """The arguments of the call, as a hook gets them."""
    positional = Seq("tuple", args)
    return (positional, Mapping((), UNKNOWN)) if hook.with_kwargs else (positional,)


def _run(interpreter: Interpreter, node: cst.CSTNode, hook: Hook, args: tuple[Value, ...]) -> Value:
    return join(*(calls.apply(interpreter, node, option, args, {}) for option in options(hook.function)))


def _running(interpreter: Interpreter, module: Instance | TorchModule, is_before: bool) -> Iterator[Hook]:
    hooks = _of(module) if isinstance(module, Instance) else module.hooks
    return (hook for hook in hooks if hook.is_before is is_before and interpreter.hooks.is_registered(hook))


def _of(module: Instance) -> tuple[Hook, ...]:
    known = module.attrs.get(HOOKS)
    return tuple(hook for hook in known.items or () if isinstance(hook, Hook)) if isinstance(known, Seq) else ()


def _on_part(interpreter: Interpreter, call: MethodCall, module: Instance) -> Hook:
    hook = _hook(call)
    interpreter.hooks.add_on_part(module, hook)
    return hook


def _hook(call: MethodCall) -> Hook:
    return Hook(
        function=call.argument(0, "hook"),
        site=id(call.node),
        is_before=call.name == "register_forward_pre_hook",
        with_kwargs="with_kwargs" in call.kwargs,
    )


def _objects_before(interpreter: Interpreter, node: cst.BaseExpression | None) -> Iterator[Instance]:
    """The modules of scanned code that ``model.body[0].layer`` passes through, the innermost first.

    Of a name that goes through ``enumerate(model.body)`` in a loop those that this passes through.
    """
    loop = _loop_over(interpreter, node.value) if isinstance(node, cst.Name) else None
    if loop is not None:
        for part in find(loop.iter, cst.Attribute):
            yield from _objects_before(interpreter, part)
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
        if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
            for option in options(expressions.evaluate(interpreter, node)):
                if isinstance(option, Instance) and option.info.is_module:
                    yield option


def _loop_over(interpreter: Interpreter, name: str) -> cst.For | None:
    """The loop around that binds ``name``."""
    loops = (loop for loop in reversed(interpreter.frame.loops) if isinstance(loop, cst.For))
    return next((loop for loop in loops if any(n.value == name for n in find(loop.target, cst.Name))), None)
