"""Calls into libraries: what torch, numpy and Python give back, and what they read of their arguments."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static import builtin_calls, calls, facts, iterate
from graphdoctor.static.events import Call, Compile, Convert
from graphdoctor.static.machine import Machine
from graphdoctor.static.values import (
    NONE,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    External,
    Function,
    Mapping,
    Partial,
    Py,
    Returned,
    Seq,
    Tensor,
    TorchModule,
    Value,
    holds_tensor,
    join,
    may_be_tensor,
    options,
    tensor_of,
    walk,
)  # fmt: skip

Kwargs = dict[str, Value]


def call_external(
    machine: Machine, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs, used: bool
) -> Value:
    """Call a library function or class by its dotted name."""
    if qualname == "torch.compile":
        return _compile(machine, node, args, kwargs, used)
    machine.emit(Call, node, qualname=qualname, args=args, kwargs=kwargs, receiver=None, used=used)
    if qualname in facts.COMPILE_TIME:
        value = facts.COMPILE_TIME[qualname]
        return Const(value) if machine.frame.compiled or value is not True else Py("bool")
    top = qualname.partition(".")[0]
    if top == "builtins":
        return builtin_calls.call_builtin(machine, node, qualname[len("builtins.") :], args, kwargs)
    if top == "torch":
        return _torch(machine, node, qualname, args, kwargs)
    if top in ("numpy", "np"):
        return _numpy(qualname, args, kwargs)
    if top == "einops" or qualname.startswith("xformers.ops"):
        return _same(args, kwargs)
    return _python(machine, node, qualname, args, kwargs)


def _compile(machine: Machine, node: cst.CSTNode, args: tuple[Value, ...], kwargs: Kwargs, used: bool) -> Value:
    target = args[0] if args else kwargs.get("model")
    if target is None or target == NONE:
        return Partial(External("torch.compile"), (), tuple(kwargs.items()))
    machine.emit(Compile, node, form="call", target=target, kwargs=kwargs, used=used)
    return join(*(Compiled(option) for option in options(target)))


def _python(machine: Machine, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    package, _, name = qualname.rpartition(".")
    if package == "math":
        for value in args:
            if may_be_tensor(value):
                machine.emit(Convert, node, value=value, to="math", how=name)
        shape = any(isinstance(a, Py) and a.shape for a in args)
        return Py(
            "int"
            if name in ("floor", "ceil", "prod", "gcd", "isqrt", "trunc", "comb")
            else "bool"
            if name.startswith("is")
            else "float",
            shape=shape,
        )
    if qualname in ("functools.partial", "functools.partialmethod") and args:
        return Partial(args[0], args[1:], tuple(kwargs.items()))
    if qualname in ("copy.copy", "copy.deepcopy") and args:
        return args[0]
    if qualname in ("functools.wraps", "functools.update_wrapper", "functools.lru_cache", "functools.cache") and args:
        return Returned(qualname) if qualname.endswith("wraps") else args[-1]
    if package == "itertools":
        return _itertools(machine, name, args)
    if package == "operator":
        return _operator(name, args)
    if package == "collections":
        return (
            Mapping((), UNKNOWN)
            if name in ("defaultdict", "OrderedDict", "Counter")
            else Seq("list", None, UNKNOWN)
            if name == "deque"
            else UNKNOWN
        )
    if qualname in ("typing.cast",) and len(args) == 2:
        return args[1]
    if qualname in ("dataclasses.replace",) and args:
        return args[0]
    if package == "random" and name not in ("Random", "SystemRandom"):
        return Py("float" if name in ("random", "uniform", "gauss") else "object")
    if qualname == "os.environ.get" or qualname == "os.getenv":
        return Py("object")
    return machine.build(node, qualname, args, kwargs)


def _itertools(machine: Machine, name: str, args: tuple[Value, ...]) -> Value:
    found = [iterate.elements(machine, None, a)[1] for a in args]
    if name in ("product", "zip_longest", "combinations", "permutations"):
        return Seq("iterator", None, Seq("tuple", tuple(found)))
    if name in ("chain", "islice", "cycle"):
        return Seq("iterator", None, join(*found) if found else UNKNOWN)
    if name == "accumulate":
        return Seq("iterator", None, found[0] if found else UNKNOWN)
    return Seq("iterator", None, UNKNOWN)


def _operator(name: str, args: tuple[Value, ...]) -> Value:
    if any(may_be_tensor(a) for a in args):
        return Tensor("bool" if name in ("eq", "ne", "lt", "le", "gt", "ge") else None)
    return Py("object")


def _torch(machine: Machine, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    name = qualname.rpartition(".")[2]
    if facts.is_torch_module(qualname):
        return _torch_module(qualname, args)
    if qualname in ("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer"):
        return Tensor("float", owned=True)
    if qualname in ("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential") and args:
        inner = {k: v for k, v in kwargs.items() if k not in ("use_reentrant", "preserve_rng_state", "context_fn")}
        return join(*(calls.apply(machine, node, option, args[1:], inner) for option in options(args[0])))
    if qualname == "torch.cond" and len(args) >= 3:
        operands = iterate.elements(machine, None, args[3])[0] if len(args) > 3 else []
        with machine.path(conditional=True):
            return join(*(calls.apply(machine, node, arm, tuple(operands or ()), {}) for arm in args[1:3]))
    if (
        qualname
        in (
            "torch.jit.script",
            "torch.jit.ignore",
            "torch.compiler.allow_in_graph",
            "torch.compiler.nonstrict_trace",
            "torch._dynamo.allow_in_graph",
        )
        and args
    ):
        return Returned(qualname) if qualname == "torch.jit.script" else args[0]
    if qualname in ("torch.compiler.disable", "torch._dynamo.disable") and args:
        return Returned("torch.compiler.disable")
    if qualname in ("torch.vmap", "torch.func.vmap", "torch.func.grad", "torch.func.functional_call"):
        return Partial(args[0]) if qualname.endswith("vmap") and args else UNKNOWN
    if qualname in ("torch.func.jacrev", "torch.func.jacfwd", "torch.func.vjp", "torch.func.jvp"):
        return UNKNOWN
    if qualname == "torch.is_tensor" and args:
        return Const(True) if isinstance(args[0], Tensor) and args[0].sure else Py("bool")
    if qualname.startswith("torch.distributions."):
        return Returned(qualname)
    if qualname == "torch.no_grad" and args:
        return args[0]
    package = qualname[: -len(name) - 1]
    if package in ("torch", "torch._C", "torch._VF"):
        if name in ("tensor", "as_tensor", "asarray") and args and "dtype" not in kwargs:
            return _from_literal(args[0])
        if name in facts.TORCH_PYTHON:
            return Returned(qualname) if facts.TORCH_PYTHON[name] == "object" else Py(facts.TORCH_PYTHON[name])
        read_numbers(machine, node, qualname, args, kwargs)
        return tensor_call(name, args, kwargs, function=True)
    if qualname.startswith(facts.TENSOR_NAMESPACES):
        read_numbers(machine, node, qualname, args, kwargs)
        if name == "matrix_rank":
            return Tensor("int", 0)
        if (
            package == "torch.nn.functional"
            and name.startswith(("max_pool", "adaptive_max_pool"))
            and "return_indices" in kwargs
        ):
            return Seq("tuple", (Tensor("float"), Tensor("int")))
        return tensor_call(name, args, kwargs, function=True)
    if qualname == "torch.nn.utils.clip_grad_norm_":
        return Tensor("float", 0)
    if package in ("torch.cuda", "torch.backends.cuda", "torch.distributed", "torch.mps", "torch.xpu"):
        return Py("bool" if name.startswith("is_") else "object")
    if package.startswith("torch.nn.init"):
        return args[0] if args else UNKNOWN
    return machine.build(node, qualname, args, kwargs)


def _from_literal(value: Value) -> Tensor:
    """``torch.tensor([True, False])``: the dtype follows from the elements."""
    if isinstance(value, Tensor):
        return Tensor(value.dtype, value.ndim)
    kinds = {
        type(v.value).__name__ if isinstance(v, Const) else getattr(v, "kind", "?")
        for v in walk(value)
        if not isinstance(v, (Seq, Tensor))
    }
    dtype = (
        "bool"
        if kinds == {"bool"}
        else "int"
        if kinds == {"int"}
        else "float"
        if kinds and kinds <= {"int", "float"}
        else None
    )
    return Tensor(dtype, None if isinstance(value, Seq) else 0, constant=isinstance(value, (Const, Py)))


def read_numbers(
    machine: Machine, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs, method: bool = False
) -> None:
    """Emit ``Convert`` for tensors passed where Python numbers are needed. ``args`` of a method omit its tensor."""
    name = qualname.rpartition(".")[2]
    short = qualname.removeprefix("torch.")
    spec, offset = facts.NUMBER_ARGS_FUNCTIONS.get(short), 0
    if method or spec is None:
        spec, offset = facts.NUMBER_ARGS.get(name), 0 if method else 1
    if spec is None:
        return
    positions, names = spec
    wanted: list[Value] = [kwargs[k] for k in names if k in kwargs]
    last = 0
    for position in positions:
        if position == "*":
            wanted += args[last + offset + 1 :]
        elif isinstance(position, int):
            last = position
            if position + offset < len(args):
                wanted.append(args[position + offset])
    for value in wanted:
        if any(isinstance(v, Tensor) for v in walk(value, 2)) and not (
            name == "split" and isinstance(value, Tensor) and value.numpy
        ):
            machine.emit(Convert, node, value=_first_tensor(value), to="size", how=name)
            return


def _first_tensor(value: Value) -> Value:
    return value if may_be_tensor(value) else next(v for v in walk(value, 2) if isinstance(v, Tensor))


def tensor_call(name: str, args: tuple[Value, ...], kwargs: Kwargs, function: bool) -> Value:
    """The result of a torch function or tensor method ``name``; ``args[0]`` is the tensor."""
    operand = tensor_of(args[0]) if args else None
    if operand is None:
        operand = next((t for a in args for t in walk(a, 2) if isinstance(t, Tensor)), None)
    sure = operand.sure if operand is not None and not function else True
    dtype = _result_dtype(name, operand, kwargs)
    if name in facts.TUPLE_OPS or (
        name in facts.PAIR_WITH_DIM and (len(args) > 1 or "dim" in kwargs) and not _elementwise(name, args)
    ):
        length = facts.TUPLE_OPS.get(name, 2)
        one = Tensor(dtype, sure=sure)
        if name in ("sort", "topk", "kthvalue", "mode", "cummax", "cummin") or name in facts.PAIR_WITH_DIM:
            return Seq("tuple", (one, Tensor("int", one.ndim, sure=sure)))
        return Seq("tuple", (one,) * length) if length else Seq("tuple", None, one)
    if name in ("unique", "unique_consecutive") and any(k in kwargs for k in ("return_inverse", "return_counts")):
        return Seq("tuple", None, Tensor(dtype, sure=sure))
    if name == "where" and len(args) == 1:
        return Seq("tuple", None, Tensor("int"))
    if name == "nonzero" and kwargs.get("as_tuple") == Const(True):
        return Seq("tuple", None, Tensor("int"))
    if name in ("qr", "triplet") or name == "unravel_index":
        return Seq("tuple", None, Tensor(dtype))
    constant = operand is None and name in facts.NUMBER_OPS
    ndim = 0 if constant else None
    if name in facts.REDUCTIONS and len(args) <= 1 and not (set(kwargs) & {"dim", "axis", "keepdim"}):
        ndim = 0
    elif operand is not None and name in (
        "clone",
        "detach",
        "contiguous",
        "to",
        "float",
        "bool",
        "long",
        "int",
        "abs",
        "isnan",
        "isinf",
        "exp",
        "relu",
        "sigmoid",
    ):
        ndim = operand.ndim
        constant = operand.constant
    dense = name in ("to_dense", "mm", "matmul")
    sparse = name.startswith(("to_sparse", "sparse_")) or (operand is not None and operand.sparse and not dense)
    return Tensor(dtype, ndim, sure=sure, sparse=sparse, constant=constant)


def _elementwise(name: str, args: tuple[Value, ...]) -> bool:
    """``torch.max(a, b)`` with two tensors is elementwise."""
    return name in ("max", "min") and len(args) > 1 and may_be_tensor(args[1])


def _result_dtype(name: str, operand: Tensor | None, kwargs: Kwargs) -> str | None:
    if "dtype" in kwargs:
        return None
    if name in facts.BOOL_OPS:
        return "bool"
    if name in facts.INT_OPS:
        return "int"
    if name in facts.FLOAT_OPS:
        return "float"
    if operand is not None and name in facts.SAME_DTYPE_OPS:
        return operand.dtype
    if name in ("sum", "prod", "cumsum") and operand is not None:
        return "int" if operand.dtype in ("bool", "int") else operand.dtype
    if name.startswith("bitwise_") and operand is not None:
        return operand.dtype
    return None


def _same(args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    first = tensor_of(args[0]) if args else None
    return Tensor(first.dtype, sure=first.sure) if first is not None else UNKNOWN


def _numpy(qualname: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    name = qualname.rpartition(".")[2]
    if facts.dtype_of(name) is not None and args and name not in ("bool", "int", "float"):
        return Tensor(facts.dtype_of(name), 0, numpy=True)
    if name in ("dtype", "errstate", "printoptions", "finfo", "iinfo", "ndarray", "default_rng", "RandomState"):
        return Returned(qualname)
    if name in ("allclose", "array_equal", "isscalar"):
        return Py("bool")
    scalar = name in (
        "prod",
        "sum",
        "mean",
        "max",
        "min",
        "sqrt",
        "ceil",
        "floor",
        "log",
        "log2",
        "exp",
        "lcm",
        "gcd",
        "round",
    )
    ndim = (
        0
        if scalar and not any(holds_tensor(a) and not isinstance(a, Seq) for a in args) and "axis" not in kwargs
        else None
    )
    if qualname.startswith("numpy.random."):
        ndim = (
            0
            if (not args and "size" not in kwargs)
            or (name in ("uniform", "beta", "normal") and "size" not in kwargs and len(args) < 3)
            else None
        )
    dtype = "bool" if name in facts.BOOL_OPS else "int" if name in facts.INT_OPS else None
    if scalar and args and not any(holds_tensor(a) for a in args) and all(isinstance(a, Const) for a in args):
        return Py("float")
    return Tensor(dtype, ndim, numpy=True)


def _torch_module(qualname: str, args: tuple[Value, ...]) -> Value:
    name = qualname.rpartition(".")[2]
    if name == "ModuleList":
        return TorchModule(qualname, args[0] if args else Seq("list", None, UNKNOWN))
    if name == "Sequential":
        if len(args) == 1 and isinstance(args[0], Mapping):
            return TorchModule(qualname, Seq("list", tuple(v for _, v in args[0].items)))
        unknown = any(isinstance(a, Seq) and a.kind == "star" for a in args)
        return TorchModule(
            qualname,
            Seq("list", None, join(*(a.element if isinstance(a, Seq) else a for a in args)))
            if unknown
            else Seq("list", args),
        )
    if name in ("ModuleDict", "ParameterDict"):
        return TorchModule(qualname, args[0] if args else Mapping((), UNKNOWN))
    if name == "Module":
        return TorchModule(qualname)
    return TorchModule(qualname)


def call_module(
    machine: Machine, node: cst.CSTNode, module: TorchModule, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """The result of calling one of torch's own modules; the children of a container are followed."""
    name = module.qualname.rpartition(".")[2]
    if name == "Sequential" and module.children is not None:
        items, element = iterate.elements(machine, None, module.children)
        value = args[0] if args else UNKNOWN
        for child in items if items is not None else [element]:
            value = join(*(calls.apply(machine, node, option, (value,), {}) for option in options(child)))
        return value
    if name == "Identity":
        return args[0] if args else UNKNOWN
    if name in facts.TUPLE_MODULES:
        state = Tensor("float")
        return Seq("tuple", (state, Seq("tuple", (state, state)) if name == "LSTM" else state))
    if name in ("ModuleList", "ModuleDict", "Module"):
        return UNKNOWN
    return Tensor("float")


def call_returned(
    machine: Machine, node: cst.CSTNode, callee: Returned, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Call what a library call gave back: a decorator, a wrapped function, a model of a library."""
    record = machine.record(callee)
    if record is not None:
        record.called_with.update(kwargs)
    functions = [a for a in args if isinstance(a, (Function, Partial, Class))]
    if len(functions) == 1 and len(args) == 1:
        return functions[0]
    return UNKNOWN
