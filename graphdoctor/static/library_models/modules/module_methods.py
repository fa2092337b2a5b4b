"""Methods of modules, and those methods of scanned objects and classes that no scanned class defines."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain import named_attributes, torch_tables
from graphdoctor.static.domain.events import Compile
from graphdoctor.static.domain.held_objects import held_objects
from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Function,
    Instance,
    Mapping,
    ModulePart,
    PythonValue,
    Seq,
    Super,
    Tensor,
    TorchModule,
    Value,
)
from graphdoctor.static.interp import assignments, calls, iteration, objects
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models import containers
from graphdoctor.static.library_models.method_call import MethodCall
from graphdoctor.static.library_models.modules import module_hooks, torch_layers

#: Methods of a module that give the module back.
GIVE_MODULE = torch_tables.words(
    "to cuda cpu half float double bfloat16 eval train requires_grad_ to_empty type share_memory apply"
)

#: Methods that store a value in a module, by a name.
_REGISTER = ("register_buffer", "register_parameter", "add_module", "register_module")

_PARAMETER = Tensor("float", owned=True)

#: The results of methods that iterate over the tensors of a module.
_ITERATORS: dict[str, Value] = {
    **dict.fromkeys(("parameters", "buffers"), Seq("iterator", None, _PARAMETER)),
    **dict.fromkeys(
        ("named_parameters", "named_buffers"),
        Seq("iterator", None, Seq("tuple", (PythonValue("str"), _PARAMETER))),
    ),
}


def of_object(interpreter: Interpreter, call: MethodCall) -> Value:
    """Call a method of an object of scanned code."""
    receiver: Instance | Super = call.receiver
    target = receiver.instance if isinstance(receiver, Super) else receiver
    if isinstance(target, Instance) and _store(interpreter, call, target):
        return NONE
    if isinstance(target, Instance) and call.name in torch_tables.FORWARD_HOOKS and not interpreter.frame.compiled:
        return module_hooks.on_object(interpreter, call, target)
    if call.name == "compile" and isinstance(receiver, Instance):
        return _compile(interpreter, call)
    base = "torch.nn.Module"
    if isinstance(target, Instance):
        if not target.info.is_module:
            return UNKNOWN
        if call.name in ("forward", "flatten_parameters"):
            base = target.info.recurrent_layer or base
    return _module_method(interpreter, call, base, target)


def of_layer(interpreter: Interpreter, call: MethodCall) -> Value:
    """Call a method of a layer or a container of torch."""
    receiver: TorchModule = call.receiver
    if call.name == "compile":
        return _compile(interpreter, call)
    if call.name in torch_tables.FORWARD_HOOKS and not interpreter.frame.compiled:
        return module_hooks.on_layer(interpreter, call)
    if receiver.children is not None:
        inner = _container(interpreter, call)
        if inner is not None:
            return inner
    return _module_method(interpreter, call, receiver.qualname, receiver)


def of_class(interpreter: Interpreter, call: MethodCall) -> Value:
    """Call a method of a scanned class itself: ``Scale.apply(x)``."""
    receiver: Class = call.receiver
    if call.name == "compile":
        return _compile(interpreter, call)
    if call.name == "apply" and receiver.info.derives(*torch_tables.AUTOGRAD_FUNCTION):
        call.emit(interpreter, "torch.autograd.Function.apply")
        return _autograd_function(interpreter, call.node, receiver, call.args)
    return UNKNOWN


def _compile(interpreter: Interpreter, call: MethodCall) -> Value:
    """``model.compile()``."""
    interpreter.emit(Compile, call.node, form="method", target=call.receiver, kwargs=call.kwargs, used=True)
    return NONE


def _store(interpreter: Interpreter, call: MethodCall, target: Instance) -> bool:
    """Store in ``target`` what its method stores there; whether the method does nothing else."""
    name, first, value = call.name, call.argument(0, "name"), call.argument(1, "tensor", "param")
    if name == "__init__":
        return objects.hold_children(target, call.args)
    if name in _REGISTER:
        if name in ("add_module", "register_module"):
            objects.add_child(target, value)
        if name == "register_buffer":
            # One that the trace has put there is a value of the graph, not an input of it.
            kept = _buffer(value)
            return named_attributes.store(target, first, kept if interpreter.frame.compiled else _owned(kept))
        return named_attributes.store(target, first, _owned(value))
    if name == "add_state" and target.info.derives(*torch_tables.METRICS):
        default = call.argument(1, "default")
        return named_attributes.store(target, first, default if isinstance(default, Seq) else _buffer(default))
    if name == "__setattr__":
        return named_attributes.store(target, first, value)
    return name == "append" and objects.add_child(target, first)


def _module_method(interpreter: Interpreter, call: MethodCall, base: str, module: Value) -> Value:
    """A method that ``module`` has from ``base``, a class of torch."""
    qualname = f"{base}.{call.name}"
    replace(call, receiver=module).emit(interpreter, qualname)
    if isinstance(module, Instance):
        found = _scanned_module_method(interpreter, call, module)
        if found is not None:
            return found
    if call.name in GIVE_MODULE:
        return module
    if qualname in torch_tables.CAUSAL_MASKS:
        return Tensor("float", 2)
    return _ITERATORS.get(call.name, UNKNOWN)


def _scanned_module_method(interpreter: Interpreter, call: MethodCall, module: Instance) -> Value | None:
    """The result of a method that depends on the class of ``module`` or on the modules in it; None for other
    methods."""
    name, first, compiled = call.name, call.argument(0, "name"), interpreter.frame.compiled
    if name == "forward" and module.info.recurrent_layer is not None:
        return torch_layers.call_layer(interpreter, call.node, TorchModule(module.info.recurrent_layer), call.args)
    if name == "apply" and compiled:
        _apply_to_parts(interpreter, call.node, module, first)
        return module
    if name in _OF_PARTS:
        part = _parts(module, name) if compiled else ModulePart(module)
        return Seq("iterator", None, Seq("tuple", (PythonValue("str"), part)) if "named" in name else part)
    if name == "get_submodule" and isinstance(first, Const):
        return module.attrs.get(str(first.value), UNKNOWN)
    return None


#: Methods that iterate over the modules in a module.
_OF_PARTS = ("modules", "named_modules", "children", "named_children")


def _parts(module: Instance, name: str) -> Value:
    """An item of ``module.children()`` or the like: an object of one of the scanned classes, or a layer of torch."""
    held = (value for value in module.attrs.values() for value in options(value) if isinstance(value, Instance))
    found = held_objects(module) if name.endswith("modules") else held
    return join(UNKNOWN, *{id(part.info): part for part in found if part.info.is_module}.values())


def _apply_to_parts(interpreter: Interpreter, node: cst.CSTNode, module: Instance, function: Value) -> None:
    """``module.apply(function)``: the function is called with it and the modules of the scanned code in it."""
    parts = [part for part in held_objects(module) if part.info.is_module and part is not module]
    for part in (*parts, module):
        for option in options(function):
            calls.apply(interpreter, node, option, (part,), {})


def _buffer(value: Value) -> Value:
    """``value`` as a buffer of a module: a tensor, or None. An array of numpy would have raised."""
    kept = [o for o in options(value) if (isinstance(o, Tensor) and not o.numpy) or o == NONE]
    return join(*kept) if any(isinstance(option, Tensor) for option in kept) else join(Tensor(), *kept)


def _owned(value: Value) -> Value:
    return join(
        *(
            Tensor(o.dtype, o.ndim, numpy=o.numpy, is_known=o.is_known, owned=True, sparse=o.sparse)
            if isinstance(o, Tensor)
            else o
            for o in options(value)
        )
    )


def _container(interpreter: Interpreter, call: MethodCall) -> Value | None:
    """The result of a method of the children of a container; None for other methods."""
    receiver: TorchModule = call.receiver
    name, args, children = call.name, call.args, receiver.children
    if isinstance(children, Mapping):
        return (
            containers.mapping(interpreter, replace(call, receiver=children, kwargs={}, used=True))
            if name in ("items", "values", "keys", "get")
            else None
        )
    if isinstance(children, Seq) and name in ("append", "extend", "insert") and args:
        if call.written_receiver is not None:
            items = iteration.elements(interpreter, None, args[0])[1] if name == "extend" else args[-1]
            known = children.items if children.items is not None else (children.element,)
            grown = Seq("list", None, join(items, *known)) if known else Seq("list", None, items)
            assignments.put_back(interpreter, call.written_receiver, TorchModule(receiver.qualname, grown))
        return NONE
    return None


def _autograd_function(interpreter: Interpreter, node: cst.CSTNode, receiver: Class, args: tuple[Value, ...]) -> Value:
    forward = _of_class(receiver, "forward")
    if not isinstance(forward, Function):
        return Tensor()
    # Dynamo traces both functions: the backward reads from its context what the forward stored there.
    context = Instance(receiver.info)
    forward_args = args if receiver.info.lookup("setup_context") is not None else (context, *args)
    result = calls.apply(interpreter, node, forward, forward_args, {})
    backward = _of_class(receiver, "backward")
    if isinstance(backward, Function):
        own = 1 if backward.bound is None else 2
        slopes = (Tensor("float") for _ in backward.info.node.params.params[own:])
        calls.apply(interpreter, node, backward, (context, *slopes), {})
    return result


def _of_class(receiver: Class, name: str) -> Value | None:
    """The attribute ``name`` read from the class itself: a classmethod has the class bound."""
    found = receiver.info.lookup(name)
    return found.to(receiver) if isinstance(found, Function) and "classmethod" in found.info.markers else found
