"""Attributes: reading and writing ``x.name``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from graphdoctor.static.domain import named_attributes, torch_tables
from graphdoctor.static.domain.events import GetAttr, SetAttr
from graphdoctor.static.domain.tensor_methods import ONLY_TENSORS, TENSOR_METHODS, TENSOR_PROPERTIES
from graphdoctor.static.domain.value_functions import enum_member, join, kinds, name_of, options, widen_numbers_within
from graphdoctor.static.domain.values import (
    CHILDREN,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    EnumNumber,
    EnumText,
    External,
    ExternalObject,
    Function,
    Hook,
    Imported,
    Instance,
    LazyText,
    Mapping,
    Method,
    ModulePart,
    NameOf,
    OneOf,
    Partial,
    PythonValue,
    Seq,
    SkippedDefault,
    Super,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)
from graphdoctor.static.interp import calls, imports, objects
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.operators import arithmetic
from graphdoctor.syntax.walk import find


def read_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Value, name: str) -> Value:
    """The value of ``receiver.name``."""
    return _READERS.get(type(receiver), _plain_attribute)(interpreter, node, receiver, name)


def _one_of_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: OneOf, name: str) -> Value:
    return join(*(read_attribute(interpreter, node, option, name) for option in receiver.options))


def _skipped_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: SkippedDefault, name: str) -> Value:
    if interpreter.first_uses.of_default(receiver, interpreter.frame):
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
    return UNKNOWN


def _class_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Class, name: str) -> Value:
    found = receiver.info.lookup(name) if receiver.exact else receiver.info.lookup_in_subclasses(name)
    if found is None and name == "__name__":
        return NameOf("str", info=receiver.info) if receiver.exact else PythonValue("str")
    if found is None:
        return Method(receiver, name)
    if isinstance(found, Function) and "classmethod" in found.info.markers:
        return found.to(receiver)
    if isinstance(found, _DATA) and receiver.info.derives(*torch_tables.AUTOGRAD_FUNCTION):
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
    return enum_member(receiver, found) if type(found) is Const else found


#: The values of members of enums.
_MEMBERS = (EnumNumber, EnumText)
#: Attributes of a class object that are no functions.
_DATA = (Const, LazyText, Mapping, PythonValue, Seq, Tensor)


def _compiled_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Compiled, name: str) -> Value:
    if name in torch_tables.FORWARD_HOOKS:
        # The wrapper calls its own hooks, outside compiled code.
        return UNKNOWN
    found = read_attribute(interpreter, node, receiver.target, name)
    return Compiled(found, receiver.fullgraph) if name in ("forward", "__call__") else found


#: The shape of a value that may be an array: numpy gives a tuple, torch a ``torch.Size``.
_UNKNOWN_SHAPE = Seq("tuple", None, PythonValue("int", shape=True))


def _external_object_attribute(
    interpreter: Interpreter, node: cst.CSTNode, receiver: ExternalObject, name: str
) -> Value:
    if torch_tables.is_tokenizer(receiver.qualname):
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
    return _UNKNOWN_SHAPE if name == "shape" else Method(receiver, name)


def _module_part_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: ModulePart, name: str) -> Value:
    return (
        Method(receiver, name)
        if name in torch_tables.FORWARD_HOOKS
        else _plain_attribute(interpreter, node, UNKNOWN, name)
    )


def _torch_module_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: TorchModule, name: str) -> Value:
    interpreter.emit(GetAttr, node, receiver=receiver, name=name)
    return module_attribute(receiver, name)


def _sequence_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Seq, name: str) -> Value:
    if receiver.kind == "tuple" and name in torch_tables.FIELDS:
        items, position = receiver.items, torch_tables.FIELDS[name]
        return receiver.element if items is None else items[position] if position < len(items) else UNKNOWN
    return _plain_attribute(interpreter, node, receiver, name)


def _plain_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Value, name: str) -> Value:
    """An attribute of a Python object whose methods are known by name, or of an unknown value."""
    if isinstance(receiver, PythonValue) and receiver.kind == "device" and name == "type":
        return PythonValue("str", family="device")
    if name == "__name__" and (own := name_of(receiver)) is not None:
        return Const(own)
    if isinstance(receiver, Const) and isinstance(receiver.value, _MEMBERS) and name in ("name", "value"):
        kind = str if isinstance(receiver.value, str) else int
        return Const(kind(receiver.value)) if name == "value" else PythonValue("str")
    arithmetic.use(interpreter, node, receiver, name)
    if isinstance(receiver, (Seq, Mapping, Const, PythonValue, Function, Partial)):
        return Method(receiver, name)
    if type(receiver) is Unknown and name in ONLY_TENSORS:
        return Method(receiver, name)
    # Any object with these names has a device or a shape there. A mask that is moved stays a mask.
    if name == "shape":
        return _UNKNOWN_SHAPE
    return PythonValue("device") if name == "device" else UNKNOWN


def tensor_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Tensor, name: str) -> Value:
    """An attribute of tensor data; a bound method where it is one."""
    if name == "shape":
        if receiver.sizes is not None:
            return Seq("size", tuple(PythonValue("int", shape=True, sample=size) for size in receiver.sizes))
        if receiver.ndim is not None:
            return Seq("size", (rows_of(receiver), *(PythonValue("int", shape=True),) * receiver.ndim)[: receiver.ndim])
        return Seq("size", None, PythonValue("int", shape=True))
    if receiver.numpy and name in ("dtype", "flags", "base"):
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
    if name == "dtype":
        return PythonValue("dtype", family=receiver.dtype)
    if name == "device":
        return PythonValue("device")
    if name in ("T", "mT", "H", "mH", "real", "imag", "data", "values_"):
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
        return Tensor(receiver.dtype, receiver.ndim, numpy=receiver.numpy, is_known=receiver.is_known)
    if name == "grad":
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
        return join(Tensor("float", argument=True), Const(None)) if receiver.owned else UNKNOWN
    if name == "grad_fn":
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
        return UNKNOWN
    if name == "ndim" and receiver.ndim is not None:
        return Const(receiver.ndim)
    if name in torch_tables.TENSOR_META and (name != "size" or receiver.numpy):
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
        return PythonValue(torch_tables.TENSOR_META[name])
    return Method(receiver, name)


#: What a subclass of ``torch.Tensor`` inherits.
_OF_TENSORS = TENSOR_METHODS | TENSOR_PROPERTIES


def rows_of(tensor: Tensor) -> PythonValue:
    """The number of rows of ``tensor``, marked as data-dependent where it is."""
    sample = tensor.sizes[0] if tensor.sizes else None
    return PythonValue("int", shape=True, sample=sample, data_dependent=tensor.unbacked)


#: Decorators of methods that reading an attribute calls.
PROPERTIES = frozenset({"property", "cached_property", "lazy_property", "getter"})


def instance_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Instance, name: str) -> Value:
    """An attribute of an object of scanned code: of the object, then of its class. Properties are called."""
    found = receiver.attrs.get(name)
    if found is not None:
        if type(found) in (Const, Mapping, Seq) and interpreter.frame.compiled and receiver.info.counts(name):
            # A counter has another number in each call.
            return widen_numbers_within(found)
        if type(found) is TorchModule and torch_tables.is_recurrent_layer(found.qualname):
            interpreter.emit(GetAttr, node, receiver=receiver, name=name)
        return found
    found = receiver.info.lookup_in_subclasses(name) if receiver.may_be_subclass else receiver.info.lookup(name)
    missing = type(found) is Const and found.value is None and receiver.may_be_subclass
    if found is UNKNOWN or (missing and name in receiver.info.fields):
        # A field: nothing shows that it was left out where its default is None.
        found = objects.declared_attribute(interpreter, receiver, name) or found
    if found is not None:
        return join(*[_read_from_class(interpreter, node, receiver, name, option) for option in options(found)])
    found = named_attributes.named_in_part(receiver, name) or objects.declared_attribute(interpreter, receiver, name)
    return found if found is not None else _undefined_attribute(interpreter, node, receiver, name)


def _read_from_class(interpreter: Interpreter, node: cst.CSTNode, receiver: Instance, name: str, found: Value) -> Value:
    """``receiver.name``, for which its class has ``found``."""
    if not isinstance(found, Function) or not found.info.markers & PROPERTIES:
        # A field is an attribute of the object; the class has only its default.
        return found if name in receiver.info.fields else calls.bind(found, receiver)
    if "cached_property" in found.info.markers and interpreter.first_uses.of_property(
        found.info, (receiver, name), interpreter.stores, interpreter.frame
    ):
        # The first call of a module reads its cached properties, and those of the objects it was made with.
        used = receiver.info.is_module or receiver.is_representative
        with interpreter.path(untaken=used and not interpreter.region_facts.has_sample):
            interpreter.emit(GetAttr, node, receiver=ExternalObject("functools.cached_property"), name=name)
    return calls.call_function(interpreter, node, found.to(receiver), (), {})


def _undefined_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Instance, name: str) -> Value:
    """``receiver.name``, which neither the object nor its class in the scanned code defines."""
    if name == "__class__":
        return Class(receiver.info, exact=not receiver.may_be_subclass)
    if name == "__dict__":
        return Mapping(tuple(receiver.attrs.items()))
    if receiver.info.is_module:
        if name == "training":
            mode = interpreter.frame.training
            return PythonValue("bool") if mode is None else Const(mode)
        if name in MODULE_METHODS:
            return Method(receiver, name)
        inherited = (torch_tables.layer_of(base, name) for base in receiver.info.externals)
        if layer := next(filter(None, inherited), None):
            return TorchModule(layer)
        if name in torch_tables.TENSORS_OF_LAYERS and any(map(torch_tables.is_weighted_layer, receiver.info.externals)):
            return Tensor("float", owned=True)
    getter = receiver.info.lookup("__getattr__")
    if isinstance(getter, Function):
        return calls.call_function(interpreter, node, getter.to(receiver), (Const(name),), {})
    if named_attributes.reads_entry(receiver.info, name):
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
        return UNKNOWN
    if receiver.info.is_tensor and name in _OF_TENSORS:
        return tensor_attribute(interpreter, node, Tensor(), name)
    if receiver.info.derives(*torch_tables.AUTOGRAD_FUNCTION):
        # An attribute of ``ctx`` that the class of the ``autograd.Function`` does not define.
        interpreter.emit(GetAttr, node, receiver=receiver, name=name)
    if receiver.info.externals:
        return Method(receiver, name)
    return UNKNOWN


#: Methods every nn.Module has.
MODULE_METHODS = torch_tables.words(
    """
    register_buffer register_parameter parameters named_parameters children named_children modules named_modules
    buffers named_buffers train eval to cuda cpu half float double bfloat16 requires_grad_ zero_grad apply compile
    state_dict load_state_dict add_module register_module register_forward_hook register_forward_pre_hook
    register_full_backward_hook get_parameter get_submodule type share_memory to_empty
    """
)

#: Attributes of a ModuleDict that are none of its children.
MODULE_DICT_METHODS = MODULE_METHODS | {"items", "keys", "values", "pop", "update", "clear", "forward", "training"}


def external_attribute(interpreter: Interpreter, receiver: External, name: str) -> Value:
    """A member of a library (or of another scanned module)."""
    qualname = f"{receiver.qualname}.{name}"
    if receiver.qualname == "builtins.object" and not name.startswith("__"):
        # It stands for a module that could not be imported: ``except ImportError: library = object``.
        return UNKNOWN
    if receiver.qualname.partition(".")[0] not in ("torch", "builtins", "numpy"):
        module = imports.load_module(interpreter, interpreter.frame.module, receiver.qualname)
        found = module.scope.names.get(name) if module is not None else None
        if found is None and module is not None:
            found = imports.lazy_member(interpreter, module, name)
        if found is not None:
            return imports.resolve(interpreter, found) if isinstance(found, Imported) else found
    if receiver.qualname == "torch" and torch_tables.dtype_of(name) is not None and name not in ("long_", "bool_"):
        return PythonValue("dtype", family=torch_tables.dtype_of(name))
    if qualname in torch_tables.COMPILE_TIME and qualname.endswith("TYPE_CHECKING"):
        return Const(False)
    if receiver.qualname in ("math", "torch", "numpy") and name in ("pi", "inf", "nan", "e", "tau"):
        return PythonValue("float")
    return External(qualname)


def module_attribute(receiver: TorchModule, name: str) -> Value:
    """An attribute of a layer or container of torch. The children of a ModuleDict are attributes too."""
    if isinstance(receiver.children, Mapping) and name not in MODULE_DICT_METHODS:
        held = receiver.children.get(name)
        if held is not None:
            return held
    if layer := torch_tables.layer_of(receiver.qualname, name):
        return TorchModule(layer)
    if name == "bias" and receiver.qualname.rpartition(".")[2].removesuffix("Cell") in torch_tables.RECURRENT:
        return PythonValue("bool")
    if name in torch_tables.TENSORS_OF_LAYERS:
        return Tensor("float", owned=True)
    if name == "training":
        return PythonValue("bool")
    if name in torch_tables.LAYER_SETTINGS:
        return PythonValue("object")
    return Method(receiver, name)


def _super_attribute(interpreter: Interpreter, node: cst.CSTNode, receiver: Super, name: str) -> Value:
    instance = receiver.instance
    info = instance.info if isinstance(instance, (Instance, Class)) else receiver.after
    found = info.lookup(name, after=receiver.after)
    if found is None and name == "__call__" and info.is_module:
        # ``nn.Module.__call__`` runs the forward of the object.
        found = info.lookup("forward")
    if found is None and isinstance(instance, Instance) and info.is_tensor and name in _OF_TENSORS:
        return tensor_attribute(interpreter, node, Tensor(), name)
    if found is None:
        return Method(receiver, name)
    return join(*(calls.bind(option, instance) for option in options(found)))


def write_attribute(
    interpreter: Interpreter, node: cst.Attribute, receiver: Value, value: Value, augmented: bool
) -> None:
    """``receiver.name = value``."""
    name = node.attr.value
    for option in options(receiver):
        begun = isinstance(option, Instance) and (option, name) in interpreter.stores.assigned_first
        interpreter.emit(SetAttr, node, receiver=option, name=name, value=value, augmented=augmented, begun=begun)
        if option is receiver and isinstance(option, Instance) and not augmented and _surely_sets(interpreter, name):
            interpreter.stores.assigned_first.add((option, name))
        if isinstance(option, Class):
            objects.patch_class(interpreter, option, name, value)
        if isinstance(option, ExternalObject):
            record = interpreter.library_objects.record(option)
            if record is not None:
                record.attributes.add(name)
        if isinstance(option, Instance):
            setter = option.info.lookup(f"{name}.setter")
            if isinstance(setter, Function):
                calls.call_function(interpreter, node, setter.to(option), (value,), {})
            _store(interpreter, option, name, value)
    interpreter.frame.scope.forget(_text(node))


def _store(interpreter: Interpreter, instance: Instance, name: str, value: Value) -> None:
    """Keep ``value`` as an attribute of ``instance``."""
    if (instance.shared and interpreter.main is not None) or named_attributes.stores_entry(instance.info):
        return
    compiled = interpreter.frame.compiled
    before = instance.attrs.get(name)
    if compiled and isinstance(value, (Seq, Mapping)):
        interpreter.stores.new_lists.add((instance, name))
    # A compiled call runs many times, and a branch may not run: the attribute may still have its old value.
    keeps = compiled or interpreter.frame.conditional
    if instance.is_representative and not compiled and not _is_own(interpreter, instance):
        before, keeps = before or instance.info.lookup(name), True
    held = join(before, value) if keeps and before is not None else value
    if compiled and before is not None and kinds(held) != kinds(before):
        instance.changes += 1
        interpreter.stores.new_kinds += 1
    instance.attrs[name] = held
    if before is None and CHILDREN in instance.attrs and _is_module(value):
        objects.add_child(instance, value)


def _is_module(value: Value) -> bool:
    return isinstance(value, TorchModule) or (isinstance(value, Instance) and value.info.is_module)


def _surely_sets(interpreter: Interpreter, name: str) -> bool:
    """Whether the statement runs in each compiled call, and does not read an attribute ``name``."""
    frame = interpreter.frame
    if not frame.compiled or frame.conditional or not isinstance(frame.statement, cst.SimpleStatementLine):
        return False
    return not any(
        each.attr.value == name
        for small in frame.statement.body
        if isinstance(small, cst.Assign)
        for each in find(small.value, cst.Attribute)
    )


def _is_own(interpreter: Interpreter, instance: Instance) -> bool:
    """Whether a method of ``instance`` is being interpreted."""
    function = interpreter.frame.function
    return function is not None and next(iter(interpreter.frame.scope.names.values()), None) is instance


def _text(node: cst.BaseExpression) -> str:
    if type(node) is cst.Attribute:
        return f"{_text(node.value)}.{node.attr.value}"
    return node.value if type(node) is cst.Name else "?"


#: How an attribute of a value is read, by its class; values without an entry are plain.
_READERS: dict[type[Value], Callable[[Interpreter, cst.CSTNode, Any, str], Value]] = {
    Tensor: tensor_attribute,
    SkippedDefault: _skipped_attribute,
    Instance: instance_attribute,
    External: lambda interpreter, _node, receiver, name: external_attribute(interpreter, receiver, name),
    Class: _class_attribute,
    Super: _super_attribute,
    Compiled: _compiled_attribute,
    ExternalObject: _external_object_attribute,
    TorchModule: _torch_module_attribute,
    Hook: lambda _interpreter, _node, receiver, name: Method(receiver, name),
    ModulePart: _module_part_attribute,
    Seq: _sequence_attribute,
    OneOf: _one_of_attribute,
}
