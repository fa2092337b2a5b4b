"""Calls into torch: the results of its functions, and the arguments that they read as Python numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.events import Convert, Decide
from graphdoctor.static.domain.value_functions import is_read, join, may_be_tensor, options, tensor_of, walk
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Const,
    External,
    ExternalObject,
    OneOf,
    PythonValue,
    Seq,
    Tensor,
    Value,
)
from graphdoctor.static.interp import calls, iteration
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models import checkpoints, function_transforms, unknown_numbers
from graphdoctor.static.library_models.modules import torch_layers
from graphdoctor.static.library_models.not_inlined import SCRIPTING, scripted
from graphdoctor.static.library_models.tensors import literals, results

Kwargs = dict[str, Value]


#: Functions that give back their first argument.
_GIVE_BACK = (
    "torch.jit.ignore", "torch.jit.unused", "torch.jit.export", "torch.compiler.allow_in_graph",
    "torch.compiler.nonstrict_trace", "torch._dynamo.allow_in_graph", "torch.no_grad", "torch.autograd.Variable",
)  # fmt: skip

#: Results that do not depend on the arguments. What was saved, or made by another repository, may be anything.
_CONSTANT_RESULTS: dict[str, Value] = {
    "torch.nn.utils.rnn.pad_packed_sequence": Seq("tuple", (Tensor(), Tensor("int", 1))),
    "torch.nn.utils.clip_grad_norm_": Tensor("float", 0),
    "torch.distributions.kl_divergence": Tensor("float"),
    "torch.distributions.kl.kl_divergence": Tensor("float"),
    **dict.fromkeys(torch_tables.CAUSAL_MASKS, Tensor("float", 2)),
    **dict.fromkeys(("torch.load", "torch.hub.load"), UNKNOWN),
    **dict.fromkeys(function_transforms.TRANSFORMS, UNKNOWN),
}


def call_torch(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """The result of a function or class of torch, by its dotted name."""
    if torch_tables.is_torch_module(qualname):
        return _new_layer(interpreter, qualname, args)
    function = _FUNCTIONS.get(qualname) or (_FUNCTIONS_OF_FIRST.get(qualname) if args else None)
    if function is not None:
        return function(interpreter, node, qualname, args, kwargs)
    if qualname in _CONSTANT_RESULTS:
        return _CONSTANT_RESULTS[qualname]
    package, _, name = qualname.rpartition(".")
    if package.split(".")[:2] == ["torch", "distributions"]:
        # ``Independent`` counts dimensions differently; all else it takes from the distribution that it is made of.
        wraps = name == "Independent" and args and isinstance(args[0], ExternalObject)
        return args[0] if wraps else ExternalObject(qualname)
    if package == "torch._C" and name.startswith(("_is_", "_are_", "_has_")):
        return PythonValue("bool")
    if package in ("torch", "torch._C", "torch._VF"):
        return _call_in_torch(interpreter, node, qualname, args, kwargs)
    if qualname.startswith("torch.nn.functional._"):
        # Private helpers of torch, also `_Reduction.get_enum`: some check shapes, and give a number, a bool or nothing.
        return UNKNOWN
    if qualname.startswith(torch_tables.TENSOR_NAMESPACES):
        return _call_in_tensor_namespace(interpreter, node, qualname, args, kwargs)
    if package in ("torch.cuda", "torch.backends.cuda", "torch.distributed", "torch.mps", "torch.xpu"):
        return PythonValue("bool" if name.startswith("is_") else "object")
    if package.startswith("torch.nn.init"):
        return args[0] if args else UNKNOWN
    if package.startswith("torch.nn.utils") and name in torch_tables.GIVE_LAYER_BACK and args:
        return args[0]
    return interpreter.build(node, qualname, args, kwargs)


def _new_layer(interpreter: Interpreter, qualname: str, args: tuple[Value, ...]) -> Value:
    """The layer that the constructor ``qualname`` makes."""
    frame = interpreter.frame
    if frame.compiled and frame.function is not None and frame.function.name == "__init__":
        # Dynamo gives up a constructor at the first layer that it builds, and does not look at the rest.
        frame.muted = True
    if (
        qualname.endswith((".ModuleList", ".ModuleDict", ".Sequential"))
        and len(args) == 1
        and isinstance(args[0], OneOf)
    ):
        # Branches made the children: there is one container for each choice.
        return join(*(torch_layers.new_layer(qualname, (choice,)) for choice in args[0].options))
    return torch_layers.new_layer(qualname, args)


def _call_in_torch(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """The result of ``torch.name(...)``."""
    name = qualname.rpartition(".")[2]
    if name in ("tensor", "as_tensor", "asarray") and args:
        made = literals.from_literal(args[0])
        if "dtype" in kwargs:
            made = replace(made, dtype=results.result_dtype(name, None, (), kwargs))
        given = tensor_of(args[0]) if name != "tensor" else None
        # Of a tensor with that dtype it gives the tensor itself.
        is_given = given is not None and given.argument and made.dtype in (given.dtype, "int")
        return replace(made, argument=True) if is_given else made
    if name in torch_tables.OFF_BY_DEFAULT:
        return PythonValue("bool", sample=0)
    kind = torch_tables.TORCH_PYTHON.get(name)
    if kind is not None:
        return ExternalObject(qualname) if kind == "object" else PythonValue(kind)
    read_numbers(interpreter, node, qualname, args, kwargs)
    return results.result_of(name, args, kwargs, is_function=True, compiled=interpreter.frame.compiled)


def _call_in_tensor_namespace(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """The result of a function of a namespace whose functions compute tensors, such as ``torch.linalg``."""
    package, _, name = qualname.rpartition(".")
    read_numbers(interpreter, node, qualname, args, kwargs)
    if name == "matrix_rank":
        return Tensor("int", 0)
    if package == "torch.sparse" and name.endswith("Tensor"):
        # A class of the old kind: `torch.sparse.FloatTensor(indices, values, size)`.
        return Tensor(torch_tables.dtype_of(name.removesuffix("Tensor").lower()), sparse=True)
    is_max_pool = package == "torch.nn.functional" and name.startswith(("max_pool", "adaptive_max_pool"))
    if is_max_pool and "return_indices" in kwargs:
        return Seq("tuple", (Tensor("float"), Tensor("int")))
    return results.result_of(name, args, kwargs, is_function=True, compiled=interpreter.frame.compiled)


def _parameter(*_: object) -> Value:
    return Tensor("float", owned=True)


def _buffer(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value:
    held = tensor_of(args[0]) if args else None
    return replace(held, owned=True, argument=False, constant=False) if held else Tensor("float", owned=True)


def _cond(
    interpreter: Interpreter, node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """``torch.cond(test, when_true, when_false, operands)``."""
    if len(args) < 3:
        return results.result_of("cond", args, kwargs, is_function=True, compiled=interpreter.frame.compiled)
    operands = iteration.elements(interpreter, None, args[3])[0] if len(args) > 3 else []
    with interpreter.path(conditional=True):
        return join(*(calls.apply(interpreter, node, arm, tuple(operands or ()), {}) for arm in args[1:3]))


def _load_extension(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """An extension in C++. The functions of one that is no Python module are operators, under ``torch.ops``."""
    if kwargs.get("is_python_module", Const(True)) != Const(True):
        return UNKNOWN
    name = kwargs.get("name", args[0] if args else UNKNOWN)
    known = name.value if isinstance(name, Const) and isinstance(name.value, str) else "built"
    return External(f"{torch_tables.EXTENSION}{known}")


def _is_tensor(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value:
    return Const(True) if isinstance(args[0], Tensor) and args[0].is_known else PythonValue("bool")


def _gradients(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """``torch.autograd.grad(outputs, inputs)``: a gradient for each input, or None where unused ones are allowed."""
    gradient: Value = Tensor("float")
    if kwargs.get("allow_unused", Const(False)) != Const(False):
        gradient = join(gradient, Const(None))
    inputs = kwargs.get("inputs", args[1] if len(args) > 1 else UNKNOWN)
    if isinstance(inputs, Tensor):
        return Seq("tuple", (gradient,))
    count = len(inputs.items) if isinstance(inputs, Seq) and inputs.items is not None else None
    return Seq("tuple", None if count is None else (gradient,) * count, gradient)


_Function = Callable[[Interpreter, cst.CSTNode, str, tuple[Value, ...], Kwargs], Value]

#: The models of functions, by name: each gives the result of the function.
_FUNCTIONS: dict[str, _Function] = {
    "torch.nn.Parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.nn.Buffer": _buffer,
    "torch.utils.cpp_extension.load": _load_extension,
    "torch.utils.cpp_extension.load_inline": _load_extension,
}

#: The same for functions that need a first argument; without one they are like any other of their package.
_FUNCTIONS_OF_FIRST: dict[str, _Function] = {
    "torch.autograd.grad": _gradients,
    "torch.cond": _cond,
    "torch.is_tensor": _is_tensor,
    **dict.fromkeys(checkpoints.NAMES, checkpoints.call),
    **dict.fromkeys(SCRIPTING, lambda _interpreter, _node, name, args, _kwargs: scripted(name, args[0])),
    **dict.fromkeys(_GIVE_BACK, lambda _interpreter, _node, _name, args, _kwargs: args[0]),
    **dict.fromkeys(
        ("torch.compiler.disable", "torch._dynamo.disable"), lambda *_: ExternalObject("torch.compiler.disable")
    ),
    **function_transforms.TRANSFORMS,
}


def read_numbers(
    interpreter: Interpreter,
    node: cst.CSTNode,
    qualname: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    method: bool = False,
) -> None:
    """Emit ``Convert`` for tensors passed where Python numbers are needed. ``args`` of a method omit its tensor."""
    name = qualname.rpartition(".")[2]
    spec = None if method else torch_tables.NUMBER_ARGS_FUNCTIONS.get(qualname.removeprefix("torch."))
    # The positions in ``NUMBER_ARGS`` count from the argument after the tensor.
    passed = args if method or spec is not None else args[1:]
    spec = spec or torch_tables.NUMBER_ARGS.get(name)
    if spec is None:
        return
    if name in ("clamp", "clip"):
        wanted = _bounds(passed, kwargs)
    else:
        wanted = _where_numbers_are_needed(spec, passed, kwargs)
        for value in wanted:
            unknown_numbers.need(interpreter, node, value)
    if name == "interpolate" and _depends_on_size(kwargs) and any(is_read(v) for w in wanted for v in walk(w, 1)):
        interpreter.emit(Decide, node, how="size")
    tensors = [
        _first_tensor(value)
        for value in wanted
        if any(isinstance(v, Tensor) for v in walk(value, 2))
        and not (name == "split" and isinstance(value, Tensor) and value.numpy)
    ]
    if tensors:
        # An input of the graph may be a size where a result may not.
        results = [t for t in tensors if not all(o.argument for o in options(t) if isinstance(o, Tensor))]
        interpreter.emit(Convert, node, value=(results or tensors)[0], to="size", how=name)


def _where_numbers_are_needed(
    spec: tuple[tuple[int | str, ...], tuple[str, ...]], args: tuple[Value, ...], kwargs: Kwargs
) -> list[Value]:
    """The arguments at the positions and under the names of ``spec``, an entry of ``torch_tables.NUMBER_ARGS``."""
    positions, names = spec
    wanted: list[Value] = [kwargs[k] for k in names if k in kwargs]
    last = 0
    for position in positions:
        if position == "*":
            wanted += args[last + 1 :]
        elif isinstance(position, int):
            last = position
            wanted += args[position : position + 1]
    return wanted


def misfits(callees: tuple[Value, ...], args: tuple[Value, ...]) -> list[Value]:
    """Those of several functions that want a number where a tensor is passed, which another of them takes.

    What chose the function, ``self.op = F.group_norm if ... else F.linear``, chose the arguments of its call with it.
    """
    found: list[Value] = [o for o in callees if isinstance(o, External) and _wants_number(o.qualname, args)]
    return found if len(found) < len(callees) else []


def _wants_number(qualname: str, args: tuple[Value, ...]) -> bool:
    positions, _ = torch_tables.NUMBER_ARGS_FUNCTIONS.get(qualname.removeprefix("torch."), ((), ()))
    return any(isinstance(args[at], Tensor) for at in positions if isinstance(at, int) and at < len(args))


def _bounds(args: tuple[Value, ...], kwargs: Kwargs) -> list[Value]:
    """The bounds of ``clamp`` where one is a number, so that the other has to be one. Otherwise both may be tensors."""
    bounds = [bound for bound in (*args, kwargs.get("min"), kwargs.get("max")) if bound is not None]
    one_is_number = any(isinstance(b, (Const, PythonValue)) and b != Const(None) for b in bounds)
    return bounds if one_is_number else []


def _depends_on_size(kwargs: Kwargs) -> bool:
    """Whether ``interpolate`` asks in Python how large its result is."""
    return kwargs.get("antialias") == Const(True) or kwargs.get("mode") == Const("area")


def _first_tensor(value: Value) -> Value:
    return value if may_be_tensor(value) else next(v for v in walk(value, 2) if isinstance(v, Tensor))
