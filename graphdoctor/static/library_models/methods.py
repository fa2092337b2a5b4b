"""Methods that are not scanned code: of tensors, containers, modules, loggers and other objects of libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import libcst as cst

from graphdoctor.static.domain import named_attributes, torch_tables
from graphdoctor.static.domain.events import Call, Compile, Convert, Truth
from graphdoctor.static.domain.held_objects import held_objects
from graphdoctor.static.domain.program import METRICS
from graphdoctor.static.domain.tensor_methods import ARRAY_METHODS, TENSOR_METHODS, shows_a_tensor
from graphdoctor.static.domain.value_functions import is_sure_tensor, is_text, join, options, walk
from graphdoctor.static.domain.values import (
    HOOKS,
    NONE,
    UNKNOWN,
    Class,
    Const,
    ExternalObject,
    Function,
    Instance,
    LazyText,
    Mapping,
    PythonValue,
    Seq,
    Super,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)
from graphdoctor.static.interp import assignments, attributes, calls, iteration, objects, operators, subscripts
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models import containers, strings, torch_functions, torch_layers, unknown_numbers

Kwargs = dict[str, Value]

#: Methods of a module that give the module back.
MODULE_CHAIN = torch_tables.words(
    "to cuda cpu half float double bfloat16 eval train requires_grad_ to_empty type share_memory apply"
)


def call_method(
    interpreter: Interpreter,
    node: cst.CSTNode,
    receiver: Value,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    """Call ``receiver.name(...)``."""
    return _BY_RECEIVER.get(type(receiver), _plain)(interpreter, node, receiver, name, args, kwargs, used)


def _plain(
    interpreter: Interpreter,
    node: cst.CSTNode,
    receiver: Value,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    """A method of a text, a number, or of what is not known."""
    if name == "join" and args:
        for part in walk(args[0], 1):
            operators.use(interpreter, node, part, name)
    if isinstance(receiver, Const) and name == "format" and any(is_sure_tensor(v) for v in (*args, *kwargs.values())):
        return LazyText("str")
    if is_text(receiver):
        if name == "format" and isinstance(receiver, Const) and not kwargs:
            return strings.formatted(receiver.value, args)
        return (
            strings.joined(receiver, strings.parts(args[0]))
            if name == "join" and args
            else strings.method(name, receiver)
        )
    if isinstance(receiver, PythonValue):
        return PythonValue("int", shape=receiver.shape) if name in ("numel", "item") else UNKNOWN
    if type(receiver) is Unknown and shows_a_tensor(name, kwargs):
        return _tensor(interpreter, node, Tensor(), name, args, kwargs, used)
    return UNKNOWN


#: What the special methods of a tensor turn it into.
_CONVERSIONS = {
    "__bool__": "bool", "__int__": "int", "__float__": "float", "__complex__": "complex", "__index__": "index",
}  # fmt: skip


def _tensor(
    interpreter: Interpreter,
    node: cst.CSTNode,
    receiver: Tensor,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    if not name.startswith("__") and name not in (ARRAY_METHODS if receiver.numpy else TENSOR_METHODS):
        return UNKNOWN
    family = "numpy.ndarray" if receiver.numpy else "torch.Tensor"
    interpreter.emit(Call, node, qualname=f"{family}.{name}", args=args, kwargs=kwargs, receiver=receiver, used=used)
    converted = _CONVERSIONS.get(name)
    if converted is not None:
        interpreter.emit(Convert, node, value=receiver, to=converted, how=name)
        return PythonValue("int" if converted == "index" else converted)
    if name == "__contains__":
        interpreter.emit(Truth, node, value=receiver, context="in", branch=None)
        return PythonValue("bool")
    if name in ("item", "tolist"):
        kind = {"bool": "bool", "int": "int", "float": "float"}.get(receiver.dtype or "", "number")
        number = unknown_numbers.number_of(interpreter, receiver, kind)
        if name == "item" or receiver.ndim == 0:
            return number
        return Seq("list", None, number if receiver.ndim == 1 or number.data_dependent else UNKNOWN)
    if name in ("numpy", "__array__"):
        return Tensor(receiver.dtype, receiver.ndim, numpy=True, is_known=receiver.is_known, unbacked=receiver.unbacked)
    if (receiver.unbacked and name in ("numel", "nelement")) or (name == "size" and args == (Const(0),)):
        return attributes.rows_of(receiver)
    if name == "size":
        shape = attributes.read_attribute(interpreter, node, receiver, "shape")
        return subscripts.sequence_item(interpreter, node, shape, args[0]) if args else shape
    if name in ("type",):
        return PythonValue("str") if not args else replace(receiver, dtype=_family(args, kwargs), owned=False)
    if name == "backward":
        return NONE
    if name == "new_tensor":
        return Tensor(receiver.dtype)
    if name in ("untyped_storage", "storage"):
        return ExternalObject(f"torch.Tensor.{name}")
    if name in torch_tables.META_METHODS:
        return PythonValue(torch_tables.META_METHODS[name])
    if name in (
        "to",
        "type_as",
        "requires_grad_",
        "copy_",
        "pin_memory",
        "cuda",
        "cpu",
        "apply_",
        "set_",
        "astype",
        "copy",
    ):
        dtype = (
            receiver.dtype
            if name in ("cuda", "cpu", "requires_grad_", "copy_", "pin_memory", "copy") or _device(args)
            else _family(args, kwargs)
        )
        return replace(receiver, dtype=dtype, owned=False, argument=False, constant=False, sparse=False)
    torch_functions.read_numbers(interpreter, node, f"torch.Tensor.{name}", args, kwargs, method=True)
    result = torch_functions.tensor_call(interpreter, name, (receiver, *args), kwargs, function=False)
    if receiver.numpy and isinstance(result, Tensor):
        return Tensor(result.dtype, result.ndim, numpy=True, is_known=result.is_known, unbacked=result.unbacked)
    return result


def _family(args: tuple[Value, ...], kwargs: Kwargs) -> str | None:
    """The kind of numbers that ``x.to(torch.bool)`` gives: that of a dtype, or of another tensor."""
    named = [v.dtype if isinstance(v, Tensor) else torch_functions.family(v) for v in (*args, *kwargs.values())]
    return next((dtype for dtype in named if dtype is not None), None)


def _device(args: tuple[Value, ...]) -> bool:
    """Whether ``x.to(...)`` is given a device and no dtype."""
    return len(args) == 1 and any(
        isinstance(o, Const) or (isinstance(o, PythonValue) and o.kind == "device") for o in options(args[0])
    )


#: What Accelerate and Fabric give back as it was passed, on its device and perhaps in a wrapper that calls it.
_PREPARES = frozenset({"prepare", "prepare_model", "setup", "setup_module", "setup_dataloaders"})


def _returned(
    interpreter: Interpreter,
    node: cst.CSTNode,
    receiver: ExternalObject,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    qualname = f"{receiver.qualname}.{name}"
    interpreter.callees[id(node)] = qualname
    interpreter.emit(Call, node, qualname=qualname, args=args, kwargs=kwargs, receiver=receiver, used=used)
    if receiver.qualname.startswith("torch.distributions.") and name in (
        "sample",
        "rsample",
        "log_prob",
        "entropy",
        "mean",
    ):
        return Tensor("float")
    if receiver.build and name in MODULE_CHAIN:
        return receiver
    if receiver.qualname == "torch.Generator" and name == "manual_seed":
        return receiver
    if receiver.qualname == "contextlib.ExitStack" and name == "enter_context" and args:
        return args[0]
    if name in _PREPARES and args and receiver.qualname.rpartition(".")[2] in ("Accelerator", "Fabric"):
        return args[0] if len(args) == 1 else Seq("tuple", args)
    if receiver.qualname == "random.Random":
        return unknown_numbers.draw(interpreter, node, name, args, generator=True)
    if shows_a_tensor(name, kwargs):
        return _tensor(interpreter, node, Tensor(), name, args, kwargs, used)
    return UNKNOWN


def _object(
    interpreter: Interpreter,
    node: cst.CSTNode,
    receiver: Value,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    used: bool,
) -> Value:
    target = receiver.instance if isinstance(receiver, Super) else receiver
    first = args[0] if args else kwargs.get("name", UNKNOWN)
    value = args[1] if len(args) > 1 else kwargs.get("tensor", kwargs.get("param", UNKNOWN))
    if isinstance(target, Instance):
        if name == "__init__" and objects.hold_children(target, args):
            return NONE
        if name in ("add_module", "register_module"):
            objects.add_child(target, value)
        if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
            kept = _owned(_buffer(value) if name == "register_buffer" else value)
            if named_attributes.store(target, first, kept):
                return NONE
        if name == "add_state" and target.info.derives(*METRICS):
            default = args[1] if len(args) > 1 else kwargs.get("default", UNKNOWN)
            if named_attributes.store(target, first, default if isinstance(default, Seq) else _buffer(default)):
                return NONE
        if name == "__setattr__" and named_attributes.store(target, first, value):
            return NONE
        if name == "register_forward_hook" and not interpreter.frame.compiled:
            known = target.attrs.get(HOOKS)
            target.attrs[HOOKS] = Seq("list", (*(known.items or () if isinstance(known, Seq) else ()), first))
        if name == "append" and objects.add_child(target, first):
            return NONE
    if name == "compile" and not isinstance(receiver, Super):
        interpreter.emit(Compile, node, form="method", target=receiver, kwargs=kwargs, used=True)
        return NONE
    if isinstance(receiver, TorchModule) and name == "register_forward_hook" and not interpreter.frame.compiled:
        func = node.func if isinstance(node, cst.Call) else None
        if isinstance(func, cst.Attribute):
            assignments.put_back(interpreter, func.value, replace(receiver, hooks=(*receiver.hooks, first)))
    if isinstance(receiver, TorchModule) and receiver.children is not None:
        inner = _container(interpreter, receiver, name, node, args)
        if inner is not None:
            return inner
    if isinstance(receiver, Class) and name == "apply" and receiver.info.derives(*torch_tables.AUTOGRAD_FUNCTION):
        interpreter.emit(
            Call, node, qualname="torch.autograd.Function.apply", args=args, kwargs=kwargs, receiver=receiver, used=used
        )
        return _autograd_function(interpreter, node, receiver, args)
    if isinstance(receiver, (Instance, TorchModule, Super)):
        base = receiver.qualname if isinstance(receiver, TorchModule) else "torch.nn.Module"
        layer = target.info.recurrent_layer if isinstance(target, Instance) else None
        if layer is not None and name in ("forward", "flatten_parameters"):
            base = layer
        is_module = not isinstance(target, Instance) or target.info.is_module
        if is_module:
            interpreter.emit(
                Call, node, qualname=f"{base}.{name}", args=args, kwargs=kwargs, receiver=target, used=used
            )
            if name == "apply" and isinstance(target, Instance) and interpreter.frame.compiled:
                _apply_to_parts(interpreter, node, target, first)
            if name in MODULE_CHAIN:
                return target
            if layer is not None and name == "forward":
                return torch_layers.call_layer(interpreter, node, TorchModule(layer), args)
            if f"{base}.{name}" in torch_tables.CAUSAL_MASKS:
                return Tensor("float", 2)
            if name in _OF_PARTS and isinstance(target, Instance) and interpreter.frame.compiled:
                part = _parts(target, name)
                return Seq("iterator", None, Seq("tuple", (PythonValue("str"), part)) if "named" in name else part)
            if name == "get_submodule" and isinstance(target, Instance) and isinstance(first, Const):
                return target.attrs.get(str(first.value), UNKNOWN)
            if name in ("parameters", "buffers"):
                return Seq("iterator", None, Tensor("float", owned=True))
            if name in ("named_parameters", "named_buffers"):
                return Seq("iterator", None, Seq("tuple", (PythonValue("str"), Tensor("float", owned=True))))
    return UNKNOWN


#: What goes through the modules in a module.
_OF_PARTS = ("modules", "named_modules", "children", "named_children")


def _parts(module: Instance, name: str) -> Value:
    """What ``module.children()`` and the like give one by one: an object of each class, or a layer of torch."""
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
    """What a module takes as a buffer: a tensor, or None."""
    kept = [option for option in options(value) if isinstance(option, Tensor) or option == NONE]
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


def _container(
    interpreter: Interpreter, receiver: TorchModule, name: str, node: cst.CSTNode, args: tuple[Value, ...]
) -> Value | None:
    children = receiver.children
    if isinstance(children, Mapping):
        return (
            containers.mapping(interpreter, node, children, name, args, {}, True)
            if name in ("items", "values", "keys", "get")
            else None
        )
    if isinstance(children, Seq) and name in ("append", "extend", "insert") and args:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            items = iteration.elements(interpreter, None, args[0])[1] if name == "extend" else args[-1]
            known = children.items if children.items is not None else (children.element,)
            grown = Seq("list", None, join(items, *known)) if known else Seq("list", None, items)
            assignments.put_back(interpreter, node.func.value, TorchModule(receiver.qualname, grown))
        return NONE
    return None


def _autograd_function(interpreter: Interpreter, node: cst.CSTNode, receiver: Class, args: tuple[Value, ...]) -> Value:
    forward = _of_class(receiver, "forward")
    if not isinstance(forward, Function):
        return Tensor()
    # What the forward stores in its context, the backward reads: Dynamo traces both.
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
    """What a class itself gives for ``name``: a classmethod has the class bound."""
    found = receiver.info.lookup(name)
    return found.to(receiver) if isinstance(found, Function) and "classmethod" in found.info.markers else found


#: Values without an entry are plain.
_BY_RECEIVER: dict[
    type[Value], Callable[[Interpreter, cst.CSTNode, Any, str, tuple[Value, ...], Kwargs, bool], Value]
] = {
    Tensor: _tensor,
    ExternalObject: _returned,
    Seq: containers.sequence,
    Mapping: containers.mapping,
    Instance: _object,
    TorchModule: _object,
    Super: _object,
    Class: _object,
}
