"""Calls into libraries: which module has the model of a function. Those of the standard library are here."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from graphdoctor.static.domain import instance_checks, torch_tables, torch_versions
from graphdoctor.static.domain.events import Call, Compile, Convert
from graphdoctor.static.domain.value_functions import join, may_be_tensor, options, tensor_of
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
from graphdoctor.static.library_models import (
    builtin_functions,
    numpy_functions,
    strings,
    torch_functions,
    unknown_numbers,
)
from graphdoctor.static.library_models.modules import torch_layers

Kwargs = dict[str, Value]
_Function = Callable[[Interpreter, cst.CSTNode, str, tuple[Value, ...], Kwargs], Value | None]


def call_external(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs, used: bool
) -> Value:
    """Call a library function or class by its dotted name."""
    if qualname.endswith("_compiling") and qualname.rpartition(".")[2] in torch_tables.ASKS_FOR_COMPILE:
        qualname = "torch.compiler.is_compiling"
    interpreter.callees[id(node)] = qualname
    if qualname in ("torch.compile", "torch.compiler.compile"):
        return _compile(interpreter, node, args, kwargs, used)
    if qualname == torch_tables.ANY_LAYER:
        return torch_layers.layer_by_name(kwargs)
    interpreter.emit(Call, node, qualname=qualname, args=args, kwargs=kwargs, receiver=None, used=used)
    if qualname in torch_tables.MARKS_DYNAMIC:
        interpreter.region_facts.has_dynamic_sizes = True
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
        return numpy_functions.call_numpy(interpreter, node, qualname, args, kwargs)
    if top == "einops" or qualname.startswith("xformers.ops"):
        return _rearranged(args)
    return _call_python(interpreter, node, qualname, args, kwargs)


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


def _call_python(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """The result of a function of the standard library, or of a library that has no model here."""
    package, _, name = qualname.rpartition(".")
    function = _FUNCTIONS.get(qualname) or _MODULES.get(package)
    result = function(interpreter, node, qualname, args, kwargs) if function is not None else None
    if result is not None:
        return result
    if qualname.startswith(torch_tables.EXTENSION) and not name[:1].isupper():
        # A function, which gives tensors more often than objects of the extension.
        return UNKNOWN
    return interpreter.build(node, qualname, args, kwargs)


def _math(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value:
    """A function of ``math``, which needs Python numbers."""
    name = qualname.removeprefix("math.")
    for value in args:
        if may_be_tensor(value):
            interpreter.emit(Convert, node, value=value, to="math", how=name)
        unknown_numbers.need(interpreter, node, value)
    kind = "int" if name in _WHOLE_NUMBERS else "bool" if name.startswith("is") else "float"
    return PythonValue(kind, shape=any(isinstance(a, PythonValue) and a.shape for a in args))


#: Functions of ``math`` that give an int.
_WHOLE_NUMBERS = ("floor", "ceil", "prod", "gcd", "isqrt", "trunc", "comb")


def _copy(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value | None:
    return join(*(_copied(option) for option in options(args[0]))) if args else None


def _random(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value | None:
    name = qualname.removeprefix("random.")
    is_generator = name in ("Random", "SystemRandom")
    return None if is_generator else unknown_numbers.draw(interpreter, node, name, args)


def _partial(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value | None:
    return Partial(args[0], args[1:], tuple(kwargs.items())) if args else None


def _bound(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value | None:
    """``types.MethodType(function, receiver)``."""
    if len(args) != 2:
        return None
    return join(*(option.to(args[1]) if isinstance(option, Function) else UNKNOWN for option in options(args[0])))


def _test(holds: Callable[[Value], bool | None]) -> _Function:
    """A function that tests its argument."""

    def result(
        _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
    ) -> Value:
        verdicts = {holds(option) for option in options(args[0])} if args else {None}
        verdict = verdicts.pop() if len(verdicts) == 1 else None
        return PythonValue("bool") if verdict is None else Const(verdict)

    return result


def _find_text(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value | None:
    return strings.found(*args) if len(args) == 2 and not kwargs else None


def _read_environment(
    _interpreter: Interpreter, _node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """A variable of the environment, which most runs do not set."""
    default = args[1] if len(args) > 1 else kwargs.get("default", NONE)
    if not isinstance(default, Const):
        return UNKNOWN
    return PythonValue("str", sample=str(default.value) if default.value else "")


def _reduce(
    interpreter: Interpreter, node: cst.CSTNode, _qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value | None:
    """``functools.reduce``: its function is called with its last result and the next item."""
    if len(args) < 2:
        return None
    function, items, *initial = args
    each = iteration.elements(interpreter, node, items)[1]
    first = join(each, *initial)
    return join(first, *(calls.apply(interpreter, node, option, (first, each), {}) for option in options(function)))


def _itertools(
    interpreter: Interpreter, _node: cst.CSTNode, qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value:
    name = qualname.removeprefix("itertools.")
    found = [iteration.elements(interpreter, None, a)[1] for a in args]
    if name in ("product", "zip_longest", "combinations", "permutations"):
        return Seq("iterator", None, Seq("tuple", tuple(found)))
    if name in ("chain", "islice", "cycle"):
        return Seq("iterator", None, join(*found) if found else UNKNOWN)
    if name == "accumulate":
        return Seq("iterator", None, found[0] if found else UNKNOWN)
    return Seq("iterator", None, UNKNOWN)


def _operator(
    _interpreter: Interpreter, _node: cst.CSTNode, qualname: str, args: tuple[Value, ...], _kwargs: Kwargs
) -> Value | None:
    name = qualname.removeprefix("operator.")
    if name in ("attrgetter", "itemgetter", "methodcaller"):
        return None
    if any(may_be_tensor(a) for a in args):
        return Tensor("bool" if name in ("eq", "ne", "lt", "le", "gt", "ge") else None)
    return PythonValue("object")


def _collections(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    name = qualname.removeprefix("collections.")
    if name == "namedtuple":
        return definitions.named_tuple(interpreter, args)
    if name == "OrderedDict" and (args or kwargs):
        # An empty one may get any entries before it is read.
        return builtin_functions.call_builtin(interpreter, node, "dict", args, kwargs)
    if name in ("defaultdict", "OrderedDict", "Counter"):
        return Mapping((), UNKNOWN)
    return Seq("list", None, UNKNOWN) if name == "deque" else UNKNOWN


def _progress(
    interpreter: Interpreter, _node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value | None:
    """A progress bar, which gives what it goes through."""
    shown = args[0] if args else kwargs.get("iterable", kwargs.get("sequence"))
    return ExternalObject(qualname, in_region=True, shown=shown) if interpreter.frame.compiled else None


_BARS = (*(f"tqdm.{package}tqdm" for package in ("", "auto.", "rich.", "std.")), "rich.progress.track")

#: The models of modules, by name: each gives the result of a function of the module, or None where it is not known.
_MODULES: dict[str, _Function] = {
    "math": _math,
    "itertools": _itertools,
    "operator": _operator,
    "collections": _collections,
    "random": _random,
}


def _argument(number: int, count: int = 1) -> _Function:
    """The model of a function that returns its argument ``number``. With fewer than ``count`` arguments, the result is
    unknown.
    """
    return lambda _interpreter, _node, _qualname, args, _kwargs: args[number] if len(args) >= count else None


#: Functions that read what was saved, and functions that look for something that may be missing.
_RESULT_UNKNOWN = (
    "json.load", "json.loads", "pickle.load", "pickle.loads",
    "importlib.util.find_spec", "inspect.getmodule", "inspect.currentframe", "shutil.which",
)  # fmt: skip

#: The models of functions, by name: each gives the result of the function, or None where it is not known.
_FUNCTIONS: dict[str, _Function] = {
    "copy.copy": _copy,
    "copy.deepcopy": _copy,
    "dataclasses.replace": _argument(0),
    "functools.cache": _argument(-1),
    "functools.lru_cache": _argument(-1),
    "functools.partial": _partial,
    "functools.partialmethod": _partial,
    "functools.reduce": _reduce,
    "functools.update_wrapper": _argument(-1),
    "types.MethodType": _bound,
    "functools.wraps": lambda _i, _n, qualname, args, _k: ExternalObject(qualname) if args else None,
    "inspect.isclass": _test(instance_checks.is_class),
    "inspect.isfunction": _test(instance_checks.is_function),
    "os.environ.get": _read_environment,
    "os.getenv": _read_environment,
    "re.findall": _find_text,
    "typing.cast": _argument(1, count=2),
    "opt_einsum.contract": lambda _i, _n, _q, args, _k: _rearranged(args[1:]),
    **dict.fromkeys(_BARS, _progress),
    **dict.fromkeys(_RESULT_UNKNOWN, lambda *_: UNKNOWN),
}


def _rearranged(args: tuple[Value, ...]) -> Value:
    """What a function of einops, xformers or opt_einsum makes of its first operand: a tensor of the same dtype."""
    first = tensor_of(args[0]) if args else None
    return Tensor(first.dtype, is_known=first.is_known) if first is not None else UNKNOWN


def call_returned(
    interpreter: Interpreter, _node: cst.CSTNode, callee: ExternalObject, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """Call what a library call gave back: a decorator, a wrapped function, a model of a library."""
    record = interpreter.library_objects.record(callee)
    if record is not None:
        record.called_with.update(kwargs)
    if callee.qualname == "typing.NewType":
        return args[0] if args else UNKNOWN
    functions = [a for a in args if isinstance(a, (Function, Partial, Class))]
    if len(functions) == 1 and len(args) == 1:
        return functions[0]
    return UNKNOWN
