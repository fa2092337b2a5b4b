"""Calls into libraries: what torch, numpy and Python give back, and what they read of their arguments."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain import torch_tables, torch_versions
from graphdoctor.static.domain.events import Call, Compile, Convert
from graphdoctor.static.domain.value_functions import holds_tensor, join, may_be_tensor, options, tensor_of
from graphdoctor.static.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    External,
    ExternalObject,
    Function,
    Instance,
    Mapping,
    Partial,
    PythonValue,
    Seq,
    Tensor,
    Value,
)
from graphdoctor.static.interp import calls, definitions, iteration
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models import builtin_functions, literals, strings, torch_functions, unknown_numbers

Kwargs = dict[str, Value]


def call_external(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs, used: bool
) -> Value:
    """Call a library function or class by its dotted name."""
    interpreter.callees[id(node)] = qualname
    if qualname == "torch.compile":
        return _compile(interpreter, node, args, kwargs, used)
    interpreter.emit(Call, node, qualname=qualname, args=args, kwargs=kwargs, receiver=None, used=used)
    if qualname in torch_tables.MARKS_DYNAMIC:
        interpreter.dynamic = True
    if qualname in torch_tables.COMPILE_TIME:
        value = torch_tables.COMPILE_TIME[qualname]
        return Const(value) if interpreter.frame.compiled or value is not True else PythonValue("bool")
    version = torch_versions.read(qualname, args)
    if version is not None:
        return version
    top = qualname.partition(".")[0]
    if top == "builtins":
        return builtin_functions.call_builtin(interpreter, node, qualname[len("builtins.") :], args, kwargs)
    if top == "torch":
        return torch_functions.call_torch(interpreter, node, qualname, args, kwargs)
    if top in ("numpy", "np"):
        return _numpy(interpreter, qualname, args, kwargs)
    if top == "einops" or qualname.startswith("xformers.ops"):
        return _same(args, kwargs)
    return _python(interpreter, node, qualname, args, kwargs)


def _compile(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], kwargs: Kwargs, used: bool) -> Value:
    target = args[0] if args else kwargs.get("model")
    if target is None or target == NONE:
        return Partial(External("torch.compile"), (), tuple(kwargs.items()))
    interpreter.emit(Compile, node, form="call", target=target, kwargs=kwargs, used=used)
    return join(*(Compiled(option, kwargs.get("fullgraph") == Const(True)) for option in options(target)))


def _copied(value: Value) -> Value:
    if not isinstance(value, Instance):
        return value
    return Instance(value.info, dict(value.attrs), may_be_subclass=value.may_be_subclass)


#: Functions of Python that find what may not be there.
_MAY_GIVE_NONE = frozenset((
    "importlib.util.find_spec", "inspect.getmodule", "inspect.currentframe", "shutil.which",
))  # fmt: skip


def _python(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    package, _, name = qualname.rpartition(".")
    if package == "math":
        for value in args:
            if may_be_tensor(value):
                interpreter.emit(Convert, node, value=value, to="math", how=name)
            unknown_numbers.need(interpreter, node, value)
        shape = any(isinstance(a, PythonValue) and a.shape for a in args)
        return PythonValue(
            "int"
            if name in ("floor", "ceil", "prod", "gcd", "isqrt", "trunc", "comb")
            else "bool"
            if name.startswith("is")
            else "float",
            shape=shape,
        )
    if qualname in _MAY_GIVE_NONE:
        return UNKNOWN
    if qualname in ("functools.partial", "functools.partialmethod") and args:
        return Partial(args[0], args[1:], tuple(kwargs.items()))
    if qualname in ("copy.copy", "copy.deepcopy") and args:
        return join(*(_copied(option) for option in options(args[0])))
    if qualname in ("functools.wraps", "functools.update_wrapper", "functools.lru_cache", "functools.cache") and args:
        return ExternalObject(qualname) if qualname.endswith("wraps") else args[-1]
    if qualname == "functools.reduce" and len(args) > 1:
        return _reduced(interpreter, node, *args)
    if package == "itertools":
        return _itertools(interpreter, name, args)
    if package == "operator":
        if name in ("attrgetter", "itemgetter", "methodcaller"):
            return interpreter.build(node, qualname, args, kwargs)
        return _operator(name, args)
    if qualname == "collections.namedtuple":
        return definitions.named_tuple(interpreter, args)
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
        return unknown_numbers.draw(interpreter, node, name, args)
    if qualname == "re.findall" and len(args) == 2 and not kwargs:
        return strings.found(*args)
    if qualname in ("json.load", "json.loads", "pickle.load", "pickle.loads"):
        return UNKNOWN
    if qualname == "os.environ.get" or qualname == "os.getenv":
        return _of_environment(args[1] if len(args) > 1 else kwargs.get("default", NONE))
    if qualname.startswith(torch_tables.EXTENSION) and not name[:1].isupper():
        # A function, which gives tensors more often than objects of the extension.
        return UNKNOWN
    return interpreter.build(node, qualname, args, kwargs)


def _of_environment(default: Value) -> Value:
    """A text that most runs do not set."""
    if not isinstance(default, Const):
        return UNKNOWN
    return PythonValue("str", sample=str(default.value) if default.value else "")


def _reduced(interpreter: Interpreter, node: cst.CSTNode, function: Value, items: Value, *initial: Value) -> Value:
    """What ``functools.reduce`` gives: ``function`` is called with what it gave before and the next of ``items``."""
    each = iteration.elements(interpreter, node, items)[1]
    first = join(each, *initial)
    return join(first, *(calls.apply(interpreter, node, option, (first, each), {}) for option in options(function)))


def _itertools(interpreter: Interpreter, name: str, args: tuple[Value, ...]) -> Value:
    found = [iteration.elements(interpreter, None, a)[1] for a in args]
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
    return PythonValue("object")


def _same(args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    first = tensor_of(args[0]) if args else None
    return Tensor(first.dtype, is_known=first.is_known) if first is not None else UNKNOWN


def _numpy(interpreter: Interpreter, qualname: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    name = qualname.rpartition(".")[2]
    if torch_tables.dtype_of(name) is not None and args and name not in ("bool", "int", "float"):
        is_input = not interpreter.frame.compiled
        return Tensor(torch_tables.dtype_of(name), 0, numpy=True, argument=is_input, constant=is_input)
    if name in ("dtype", "errstate", "printoptions", "finfo", "iinfo", "ndarray", "default_rng", "RandomState"):
        return ExternalObject(qualname)
    if qualname.startswith("numpy.random.") and (drawn := _drawn_number(name, args, kwargs)) is not None:
        return drawn
    if name in ("allclose", "array_equal", "isscalar"):
        return PythonValue("bool")
    scalar = name in _REDUCTIONS or name in _OF_ONE_NUMBER or name in ("lcm", "gcd")
    of_numbers = scalar and not any(holds_tensor(a) and not isinstance(a, Seq) for a in args)
    ndim = 0 if (of_numbers or (name in _REDUCTIONS and len(args) == 1)) and "axis" not in kwargs else None
    if name in ("array", "asarray") and args and not holds_tensor(args[0]) and "dtype" not in kwargs:
        return replace(literals.from_literal(args[0]), numpy=True, constant=False)
    dtype = "bool" if name in torch_tables.BOOL_OPS else "int" if name in torch_tables.INT_OPS else None
    if name == "prod" and args and isinstance(args[0], Seq) and args[0].items is not None and len(args[0].items) == 1:
        # Dynamo evaluates the product of one number.
        return args[0].items[0]
    if scalar and len(args) == 1 and interpreter.frame.compiled:
        if _is_constant(args[0]):
            # Dynamo evaluates it. What eager code computed is a numpy scalar, which is tensor data wherever it is read.
            return PythonValue("float")
        if name in _OF_ONE_NUMBER and not any(map(_may_be_array, options(args[0]))):
            # Of a size too, but what it gives then has the methods of an array, which Dynamo does not evaluate.
            numbers = all(isinstance(part, (Tensor, PythonValue, Const)) for part in options(args[0]))
            return Tensor("float", 0, numpy=True, constant=True) if numbers else UNKNOWN
    # A numpy scalar that eager code computed is an input of the graph, of a value that is known.
    is_input = ndim == 0 and not interpreter.frame.compiled
    return Tensor(dtype, ndim, numpy=True, argument=is_input, constant=is_input)


#: Functions that make one number of an array where no axis is named.
_REDUCTIONS = frozenset({"prod", "sum", "mean", "max", "min"})

#: Functions that work on each element: of a number of Python they give a number, too.
_OF_ONE_NUMBER = frozenset({"sqrt", "ceil", "floor", "log", "log2", "exp", "round"})

#: Functions of ``numpy.random`` that give a number of Python, by how many arguments stand before ``size``.
_DRAW_NUMBERS = {
    **dict.fromkeys(torch_tables.words(
        "rand randn random random_sample ranf sample standard_normal standard_exponential standard_cauchy"), 0),
    **dict.fromkeys(torch_tables.words(
        "standard_gamma standard_t poisson exponential chisquare rayleigh geometric weibull pareto power"), 1),
    **dict.fromkeys(torch_tables.words(
        "uniform normal beta gamma binomial lognormal laplace gumbel logistic vonmises wald f randint"), 2),
    "triangular": 3,
}  # fmt: skip
_WHOLE = ("randint", "poisson", "geometric", "binomial")


def _drawn_number(name: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value | None:
    """The number that a function of ``numpy.random`` gives where it is asked for no shape.

    The graph ends at the call, so that what follows has a plain number.
    """
    before = _DRAW_NUMBERS.get(name)
    if before is None or len(args) > before or "size" in kwargs:
        return None
    if any(holds_tensor(a) or isinstance(a, Seq) for a in (*args, *kwargs.values())):
        return None
    return PythonValue("int" if name in _WHOLE else "float")


def _is_constant(value: Value) -> bool:
    """Whether a trace knows the number ``value``: it comes from no shape and no tensor data."""
    number = (
        isinstance(value, PythonValue) and value.kind in ("int", "float") and not (value.shape or value.data_dependent)
    )
    return number or isinstance(value, Const)


def _may_be_array(value: Value) -> bool:
    """Whether numpy makes tensor data of ``value``: an array, a list, a number read from a tensor."""
    if isinstance(value, Tensor):
        return not (value.numpy and value.constant)
    return isinstance(value, Seq) or (isinstance(value, PythonValue) and value.data_dependent)


def call_returned(
    interpreter: Interpreter, _node: cst.CSTNode, callee: ExternalObject, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Call what a library call gave back: a decorator, a wrapped function, a model of a library."""
    record = interpreter.record(callee)
    if record is not None:
        record.called_with.update(kwargs)
    functions = [a for a in args if isinstance(a, (Function, Partial, Class))]
    if len(functions) == 1 and len(args) == 1:
        return functions[0]
    return UNKNOWN
