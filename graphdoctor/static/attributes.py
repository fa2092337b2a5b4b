"""Attributes: reading and writing ``x.name``."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static import calls, facts, imports, operators
from graphdoctor.static.events import GetAttr, SetAttr
from graphdoctor.static.machine import Machine
from graphdoctor.static.values import (
    UNKNOWN,
    Class,
    Compiled,
    Const,
    Either,
    External,
    Function,
    Imported,
    Instance,
    Mapping,
    Method,
    Missing,
    NameOf,
    Partial,
    Py,
    Returned,
    Seq,
    Super,
    Tensor,
    TorchModule,
    Value,
    join,
    options,
)  # fmt: skip


def read_attribute(machine: Machine, node: cst.CSTNode, receiver: Value, name: str) -> Value:
    """The value of ``receiver.name``."""
    if not isinstance(receiver, Either):
        return _read(machine, node, receiver, name)
    return join(*(_read(machine, node, option, name) for option in receiver.options))


def _read(machine: Machine, node: cst.CSTNode, receiver: Value, name: str) -> Value:
    if isinstance(receiver, Tensor):
        return tensor_attribute(machine, node, receiver, name)
    if isinstance(receiver, Missing):
        if machine.is_first_use(receiver):
            machine.emit(GetAttr, node, receiver=receiver, name=name)
        return UNKNOWN
    if isinstance(receiver, Instance):
        return instance_attribute(machine, node, receiver, name)
    if isinstance(receiver, External):
        return external_attribute(machine, receiver, name)
    if isinstance(receiver, Class):
        found = receiver.info.lookup(name) if receiver.exact else receiver.info.promised(name)
        if found is None and name == "__name__":
            return NameOf("str", info=receiver.info) if receiver.exact else Py("str")
        if found is None:
            return Method(receiver, name)
        if isinstance(found, Function) and "classmethod" in found.info.markers:
            return found.to(receiver)
        return found
    if isinstance(receiver, Super):
        return _super_attribute(receiver, name)
    if isinstance(receiver, Compiled):
        return (
            Compiled(read_attribute(machine, node, receiver.target, name))
            if name in ("forward", "__call__")
            else read_attribute(machine, node, receiver.target, name)
        )
    if isinstance(receiver, Returned):
        if name == "shape":
            return Seq("size", None, Py("int", shape=True))
        return Method(receiver, name)
    if isinstance(receiver, TorchModule):
        return module_attribute(receiver, name)
    if isinstance(receiver, Seq) and receiver.kind == "tuple" and name in facts.FIELDS:
        items, position = receiver.items, facts.FIELDS[name]
        return receiver.element if items is None else items[position] if position < len(items) else UNKNOWN
    operators.use(machine, node, receiver, name)
    if isinstance(receiver, (Seq, Mapping, Const, Py, Function, Partial)):
        return Method(receiver, name)
    # Whatever has a device calls it so: moved there, a mask stays a mask.
    return Py("device") if name == "device" else UNKNOWN


def tensor_attribute(machine: Machine, node: cst.CSTNode, receiver: Tensor, name: str) -> Value:
    """An attribute of tensor data; a bound method where it is one."""
    if name == "shape":
        if receiver.sizes is not None:
            return Seq("size", tuple(Py("int", shape=True, sample=size) for size in receiver.sizes))
        if receiver.ndim is not None:
            return Seq("size", (rows_of(receiver), *(Py("int", shape=True),) * receiver.ndim)[: receiver.ndim])
        return Seq("size", None, Py("int", shape=True))
    if name == "dtype":
        return Py("dtype", family=receiver.dtype)
    if name == "device":
        return Py("device")
    if name in ("T", "mT", "H", "mH", "real", "imag", "data", "values_"):
        machine.emit(GetAttr, node, receiver=receiver, name=name)
        return Tensor(receiver.dtype, receiver.ndim, numpy=receiver.numpy, sure=receiver.sure)
    if name == "grad":
        machine.emit(GetAttr, node, receiver=receiver, name=name)
        return join(Tensor("float"), Const(None)) if receiver.owned else UNKNOWN
    if name == "grad_fn":
        machine.emit(GetAttr, node, receiver=receiver, name=name)
        return UNKNOWN
    if name == "ndim" and receiver.ndim is not None:
        return Const(receiver.ndim)
    if name in facts.TENSOR_META and (name != "size" or receiver.numpy):
        machine.emit(GetAttr, node, receiver=receiver, name=name)
        return Py(facts.TENSOR_META[name])
    return Method(receiver, name)


def rows_of(tensor: Tensor) -> Py:
    """How many rows ``tensor`` has. Where data says it, that is a number read from data."""
    sample = tensor.sizes[0] if tensor.sizes else None
    return Py("int", shape=True, sample=sample, read=tensor.unbacked)


def instance_attribute(machine: Machine, node: cst.CSTNode, receiver: Instance, name: str) -> Value:
    """An attribute of an object of scanned code: its own, then its class's, properties called."""
    found = receiver.attrs.get(name)
    if found is not None:
        return found
    found = receiver.info.promised(name) if receiver.promised else receiver.info.lookup(name)
    if found is not None:
        results: list[Value] = []
        for option in options(found):
            if isinstance(option, Function) and option.info.markers & {"property", "cached_property", "getter"}:
                if "cached_property" in option.info.markers:
                    # Of a module in use, and of what it was made with, the first call read it.
                    used = receiver.info.is_module or receiver.many
                    with machine.path(untaken=used and not machine.fresh):
                        machine.emit(GetAttr, node, receiver=Returned("functools.cached_property"), name=name)
                results.append(calls.call_function(machine, node, option.to(receiver), (), {}))
            else:
                results.append(calls.bind(option, receiver))
        return join(*results)
    if name == "__class__":
        return Class(receiver.info, exact=not receiver.promised)
    if name == "__dict__":
        return Mapping(tuple(receiver.attrs.items()))
    if receiver.info.is_module:
        if name == "training":
            return Py("bool")
        if name in MODULE_METHODS:
            return Method(receiver, name)
    getter = receiver.info.lookup("__getattr__")
    if isinstance(getter, Function):
        return calls.call_function(machine, node, getter.to(receiver), (Const(name),), {})
    if receiver.info.externals:
        return Method(receiver, name)
    return UNKNOWN


#: Methods every nn.Module has.
MODULE_METHODS = facts.words(
    """
    register_buffer register_parameter parameters named_parameters children named_children modules named_modules
    buffers named_buffers train eval to cuda cpu half float double bfloat16 requires_grad_ zero_grad apply compile
    state_dict load_state_dict add_module register_module register_forward_hook register_forward_pre_hook
    register_full_backward_hook get_parameter get_submodule type share_memory to_empty
    """
)


def external_attribute(machine: Machine, receiver: External, name: str) -> Value:
    """A member of a library (or of another scanned module)."""
    qualname = f"{receiver.qualname}.{name}"
    if not receiver.qualname.startswith(("torch", "builtins", "numpy")):
        module = imports.load_module(machine, machine.frame.module, receiver.qualname)
        found = module.scope.names.get(name) if module is not None else None
        if found is None and module is not None:
            found = imports.lazy_member(machine, module, name)
        if found is not None:
            return imports.resolve(machine, found) if isinstance(found, Imported) else found
    if receiver.qualname == "torch" and facts.dtype_of(name) is not None and name not in ("long_", "bool_"):
        return Py("dtype", family=facts.dtype_of(name))
    if qualname in facts.COMPILE_TIME and qualname.endswith("TYPE_CHECKING"):
        return Const(False)
    if receiver.qualname in ("math", "torch", "numpy") and name in ("pi", "inf", "nan", "e", "tau"):
        return Py("float")
    return External(qualname)


def module_attribute(receiver: TorchModule, name: str) -> Value:
    """An attribute of one of torch's own modules."""
    if name in ("weight", "bias", "running_mean", "running_var", "in_proj_weight", "in_proj_bias"):
        return Tensor("float", owned=True)
    if name == "training":
        return Py("bool")
    if name in (
        "in_features",
        "out_features",
        "num_embeddings",
        "embedding_dim",
        "kernel_size",
        "stride",
        "eps",
        "p",
        "num_heads",
    ):
        return Py("object")
    return Method(receiver, name)


def _super_attribute(receiver: Super, name: str) -> Value:
    instance = receiver.instance
    info = instance.info if isinstance(instance, (Instance, Class)) else receiver.after
    found = info.lookup(name, after=receiver.after)
    if found is None:
        return Method(receiver, name)
    return join(*(calls.bind(option, instance) for option in options(found)))


def write_attribute(machine: Machine, node: cst.Attribute, receiver: Value, value: Value, augmented: bool) -> None:
    """``receiver.name = value``."""
    name = node.attr.value
    for option in options(receiver):
        machine.emit(SetAttr, node, receiver=option, name=name, value=value, augmented=augmented)
        if isinstance(option, Returned):
            record = machine.record(option)
            if record is not None:
                record.attributes.add(name)
        if isinstance(option, Instance):
            setter = option.info.lookup(f"{name}.setter")
            if isinstance(setter, Function):
                calls.call_function(machine, node, setter.to(option), (value,), {})
            if option.shared and machine.main is not None:
                continue
            before = option.attrs.get(name)
            # A compiled call runs many times, a branch may not run: what an attribute held before is still possible.
            keeps = machine.frame.compiled or machine.frame.conditional
            if option.many and not machine.frame.compiled and not _is_own(machine, option):
                before, keeps = before or option.info.lookup(name), True
            option.attrs[name] = join(before, value) if keeps and before is not None else value
    machine.frame.scope.forget(_text(node))


def _is_own(machine: Machine, instance: Instance) -> bool:
    """Whether a method of ``instance`` is being interpreted."""
    function = machine.frame.function
    return function is not None and next(iter(machine.frame.scope.names.values()), None) is instance


def _text(node: cst.BaseExpression) -> str:
    if type(node) is cst.Attribute:
        return f"{_text(node.value)}.{node.attr.value}"
    return node.value if type(node) is cst.Name else "?"
