"""Methods that are not scanned code: which module has the model of a method, and the methods of tensors and text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.events import Convert, Truth
from graphdoctor.static.domain.tensor_methods import ARRAY_METHODS, TENSOR_METHODS, shows_a_tensor
from graphdoctor.static.domain.value_functions import is_sure_tensor, is_text, options, walk
from graphdoctor.static.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    EnumText,
    ExternalObject,
    Function,
    Hook,
    Instance,
    LazyText,
    Mapping,
    ModulePart,
    PythonValue,
    Seq,
    Super,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)
from graphdoctor.static.interp import assignments, attributes, subscripts
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.operators import arithmetic
from graphdoctor.static.library_models import containers, strings, torch_functions, unknown_numbers
from graphdoctor.static.library_models.method_call import MethodCall
from graphdoctor.static.library_models.modules import module_hooks, module_methods
from graphdoctor.static.library_models.tensors import results


def call_method(interpreter: Interpreter, call: MethodCall) -> Value:
    """The value that ``call`` gives."""
    return _BY_RECEIVER.get(type(call.receiver), _plain)(interpreter, call)


def _of_function(interpreter: Interpreter, call: MethodCall) -> Value:
    """``function.__get__(model)`` binds the function."""
    function: Function = call.receiver
    return function.to(call.args[0]) if call.name == "__get__" and call.args else _plain(interpreter, call)


def _plain(interpreter: Interpreter, call: MethodCall) -> Value:
    """A method of a string, a number or an unknown value."""
    receiver, name, args = call.receiver, call.name, call.args
    if name == "join" and args:
        for part in walk(args[0], 1):
            arithmetic.use(interpreter, call.node, part, name)
    if (
        isinstance(receiver, Const)
        and name == "format"
        and any(is_sure_tensor(v) for v in (*args, *call.kwargs.values()))
    ):
        return LazyText("str")
    if is_text(receiver):
        if isinstance(receiver, Const) and type(receiver.value) is EnumText:
            call.emit(interpreter, f"enum.StrEnum.{name}")
        if name == "format" and isinstance(receiver, Const) and not call.kwargs:
            return strings.formatted(receiver.value, args)
        return (
            strings.joined(receiver, strings.parts(args[0]))
            if name == "join" and args
            else strings.method(name, receiver)
        )
    kind = arithmetic.kind(receiver)
    if (kind == "bytes" and name != "decode") or (kind == "int" and name == "to_bytes"):
        # Of bytes Dynamo folds ``decode`` alone.
        call.emit(interpreter, f"builtins.{kind}.{name}")
        return PythonValue("bytes") if name == "to_bytes" else UNKNOWN
    if isinstance(receiver, PythonValue):
        return PythonValue("int", shape=receiver.shape) if name in ("numel", "item") else UNKNOWN
    if type(receiver) is Unknown and shows_a_tensor(name, call.kwargs):
        return _tensor(interpreter, replace(call, receiver=Tensor()))
    return UNKNOWN


#: The special methods that convert a tensor, with what they convert it to.
_CONVERSIONS = {
    "__bool__": "bool", "__int__": "int", "__float__": "float", "__complex__": "complex", "__index__": "index",
}  # fmt: skip

#: Methods of a tensor whose result does not depend on the tensor.
_CONSTANT_RESULTS: dict[str, Value] = {
    **{name: PythonValue(kind) for name, kind in torch_tables.META_METHODS.items()},
    **{name: ExternalObject(f"torch.Tensor.{name}") for name in ("untyped_storage", "storage")},
    "backward": NONE,
}

#: Methods that give the tensor with the same dtype, elsewhere or with other data.
_KEEP_DTYPE = ("cuda", "cpu", "requires_grad_", "copy_", "pin_memory", "copy")

#: Methods that change the shape of the tensor itself.
_RESHAPE = torch_tables.words("squeeze_ unsqueeze_ transpose_ t_ swapaxes_ swapdims_ as_strided_ resize_ resize_as_")

#: Methods that may give the tensor with another dtype, by their arguments.
_CAST = ("to", "type_as", "apply_", "set_", "astype")


def _tensor(interpreter: Interpreter, call: MethodCall) -> Value:
    """A method of a tensor, or of an array of numpy."""
    receiver: Tensor = call.receiver
    name, args = call.name, call.args
    if not name.startswith("__") and name not in (ARRAY_METHODS if receiver.numpy else TENSOR_METHODS):
        return UNKNOWN
    family = "numpy.ndarray" if receiver.numpy else "torch.Tensor"
    call.emit(interpreter, f"{family}.{name}")
    converted = _CONVERSIONS.get(name)
    if converted is not None:
        interpreter.emit(Convert, call.node, value=receiver, to=converted, how=name)
        return PythonValue("int" if converted == "index" else converted)
    if name == "__contains__":
        interpreter.emit(Truth, call.node, value=receiver, context="in", branch=None)
        return PythonValue("bool")
    if name in ("item", "tolist"):
        return _numbers_of(interpreter, receiver, name)
    if name in ("numpy", "__array__"):
        return _as_array(receiver)
    if name == "size":
        return _size_of(interpreter, call.node, receiver, args)
    if receiver.unbacked and name in ("numel", "nelement"):
        return attributes.rows_of(receiver)
    if name in _CONSTANT_RESULTS:
        return _CONSTANT_RESULTS[name]
    if name == "new_tensor":
        return Tensor(receiver.dtype)
    if name == "type":
        return replace(receiver, dtype=_family(call), owned=False) if args else PythonValue("str")
    if name == "as_subclass":
        # What a class gives that changes torch's functions is not known.
        made = args[0].info if args and isinstance(args[0], Class) else None
        return replace(receiver, subclass=made is not None and made.lookup("__torch_function__") is None)
    if name in _RESHAPE and not receiver.numpy:
        return _reshaped(interpreter, call)
    if name in _KEEP_DTYPE or name in _CAST:
        dtype = receiver.dtype if name in _KEEP_DTYPE or _device(args) else _family(call)
        return replace(receiver, dtype=dtype, owned=False, argument=False, constant=False, sparse=False)
    torch_functions.read_numbers(interpreter, call.node, f"torch.Tensor.{name}", args, call.kwargs, method=True)
    result = results.result_of(
        name, (receiver, *args), call.kwargs, is_function=False, compiled=interpreter.frame.compiled
    )
    return _as_array(result) if receiver.numpy and isinstance(result, Tensor) else result


def _reshaped(interpreter: Interpreter, call: MethodCall) -> Tensor:
    """The tensor after ``x.unsqueeze_(0)``, which is what ``x`` names from now on."""
    tensor: Tensor = call.receiver
    shaped = results.result_of(
        call.name[:-1], (tensor, *call.args), call.kwargs, is_function=False, compiled=interpreter.frame.compiled
    )
    known = shaped if isinstance(shaped, Tensor) else Tensor()
    result = replace(tensor, ndim=known.ndim, sizes=known.sizes)
    if call.written_receiver is not None:
        assignments.put_back(interpreter, call.written_receiver, result)
    return result


def _as_array(tensor: Tensor) -> Tensor:
    """The array of numpy with the data of ``tensor``."""
    return Tensor(tensor.dtype, tensor.ndim, numpy=True, is_known=tensor.is_known, unbacked=tensor.unbacked)


def _numbers_of(interpreter: Interpreter, tensor: Tensor, method: str) -> Value:
    """What ``item`` or ``tolist`` of a tensor gives."""
    kind = {"bool": "bool", "int": "int", "float": "float"}.get(tensor.dtype or "", "number")
    number = unknown_numbers.number_of(interpreter, tensor, kind)
    if method == "item" or tensor.ndim == 0:
        return number
    return Seq("list", None, number if tensor.ndim == 1 or number.data_dependent else UNKNOWN)


def _size_of(interpreter: Interpreter, node: cst.CSTNode, tensor: Tensor, args: tuple[Value, ...]) -> Value:
    """``x.size()``, or ``x.size(dim)``."""
    if args == (Const(0),):
        return attributes.rows_of(tensor)
    shape = attributes.read_attribute(interpreter, node, tensor, "shape")
    return subscripts.sequence_item(interpreter, node, shape, args[0]) if args else shape


def _family(call: MethodCall) -> str | None:
    """The kind of numbers that ``x.to(torch.bool)`` gives: that of a dtype, or of another tensor."""
    named = [v.dtype if isinstance(v, Tensor) else results.family(v) for v in (*call.args, *call.kwargs.values())]
    return next((dtype for dtype in named if dtype is not None), None)


def _device(args: tuple[Value, ...]) -> bool:
    """Whether ``x.to(...)`` is given a device and no dtype."""
    return len(args) == 1 and any(
        isinstance(o, Const) or (isinstance(o, PythonValue) and o.kind == "device") for o in options(args[0])
    )


#: Methods of distributions that give tensors.
_OF_DISTRIBUTIONS = ("sample", "rsample", "log_prob", "entropy", "mean")

#: Methods of Accelerate and Fabric that return their argument, on its device and perhaps in a wrapper that calls it.
_PREPARES = frozenset({"prepare", "prepare_model", "setup", "setup_module", "setup_dataloaders"})


def _returned(interpreter: Interpreter, call: MethodCall) -> Value:
    """A method of an object that a library made."""
    receiver: ExternalObject = call.receiver
    name, args = call.name, call.args
    qualname = f"{receiver.qualname}.{name}"
    interpreter.callees[id(call.node)] = qualname
    call.emit(interpreter, qualname)
    if receiver.qualname.startswith("torch.distributions.") and name in _OF_DISTRIBUTIONS:
        return Tensor("float")
    if receiver.build and name in module_methods.GIVE_MODULE:
        return receiver
    if receiver.qualname == "torch.Generator" and name == "manual_seed":
        return receiver
    if receiver.qualname == "contextlib.ExitStack" and name == "enter_context" and args:
        return args[0]
    if name in _PREPARES and args and receiver.qualname.rpartition(".")[2] in ("Accelerator", "Fabric"):
        return args[0] if len(args) == 1 else Seq("tuple", args)
    if receiver.qualname == "random.Random":
        return unknown_numbers.draw(interpreter, call.node, name, args, generator=True)
    if shows_a_tensor(name, call.kwargs):
        return _tensor(interpreter, replace(call, receiver=Tensor()))
    return UNKNOWN


#: Values without an entry are plain.
_BY_RECEIVER: dict[type[Value], Callable[[Interpreter, MethodCall], Value]] = {
    Tensor: _tensor,
    ExternalObject: _returned,
    Seq: containers.sequence,
    Mapping: containers.mapping,
    Instance: module_methods.of_object,
    Super: module_methods.of_object,
    TorchModule: module_methods.of_layer,
    Function: _of_function,
    Hook: module_hooks.of_handle,
    ModulePart: module_hooks.of_part,
    Class: module_methods.of_class,
}
