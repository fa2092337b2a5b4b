"""Function and class definitions, decorators, parameters and annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.decorators import (
    CACHES,
    DEFAULT_OF_LOOKUP,
    KEEPS_SIGNATURE,
    NOTHING,
    NUMBA,
    NVTX_RANGE,
    OTHER_COMPILER,
    Effect,
    is_of_numba,
    is_of_other_compiler,
)
from graphdoctor.static.domain.events import Call, Compile
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo, Scope
from graphdoctor.static.domain.value_functions import join, mark_assumed, options
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
    OneOf,
    Partial,
    PythonValue,
    Seq,
    Tensor,
    TorchModule,
    TypeAlias,
    Unknown,
    Value,
)
from graphdoctor.static.interp import calls, expressions, imports, statements
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models import type_checkers, wrappers
from graphdoctor.syntax.walk import find

#: Decorators that do not change what a call gives; the last part of the name marks the function.
_DISABLE = (
    "torch.compiler.disable",
    "torch._dynamo.disable",
    "torch._disable_dynamo",
    "torch._dynamo.eval_frame.disable",
)
_DISABLING = frozenset(map(External, _DISABLE))

#: The name under which the scope of a class body has the class itself; no name of Python.
_OWNER = "#class"


def define_lambda(interpreter: Interpreter, node: cst.Lambda) -> Function:
    """The value of a lambda."""
    frame = interpreter.frame
    info = FunctionInfo(
        node,
        "<lambda>",
        f"{frame.name}.<lambda>",
        frame.module,
        None,
        frozenset(),
        _defaults(interpreter, node.params),
    )
    return Function(info, None, _enclosing(interpreter, frame.scope))


def define_function(interpreter: Interpreter, node: cst.FunctionDef) -> Value:
    """The value that ``def`` binds, decorators applied."""
    frame = interpreter.frame
    decorators = _decorators(interpreter, node)
    owner = frame.scope.names.get(_OWNER) if frame.scope.kind == "class" else None
    prefix = "" if frame.name == "<module>" else f"{frame.name}."
    if isinstance(owner, Class):
        prefix = f"{owner.info.qualname}."
    info = FunctionInfo(
        node=node,
        name=node.name.value,
        qualname=f"{prefix}{node.name.value}",
        module=frame.module,
        owner=owner.info if isinstance(owner, Class) else None,
        markers=decorators.markers,
        defaults=_defaults(interpreter, node.params),
        wrappers=decorators.wrappers,
    )
    defined: Value = Function(info, None, _enclosing(interpreter, _closure(frame.scope)))
    for place, decorator in reversed(decorators.values):
        defined = _decorate(interpreter, place, decorator, defined)
    for kind in decorators.markers & {"setter", "deleter"}:
        # The name stays the property, which its getter reads.
        frame.scope.names[f"{info.name}.{kind}"] = defined
        defined = frame.scope.names.get(info.name, defined)
    return defined


@dataclass(frozen=True)
class _Decorators:
    """The decorators of a function: their expressions and ``values`` in order, and ``FunctionInfo`` takes the rest."""

    values: tuple[tuple[cst.BaseExpression, Value], ...]
    markers: frozenset[str]
    wrappers: tuple[Function, ...]


def _decorators(interpreter: Interpreter, node: cst.FunctionDef) -> _Decorators:
    """The decorators of ``node``, evaluated in order; none of them is applied."""
    module = interpreter.frame.module
    markers: set[str] = set()
    values: list[tuple[cst.BaseExpression, Value]] = []
    around: list[Function] = []
    named: list[str] = []
    for decorator in node.decorators:
        value = expressions.evaluate(interpreter, decorator.decorator)
        name = _decorator_name(interpreter, decorator.decorator, value)
        if name is not None:
            markers.add(name.rpartition(".")[2])
            named.append(name)
        made_by = _decorator(interpreter, decorator.decorator, value)
        applied = NOTHING if made_by is None else made_by.info.effect
        if name in _DISABLE or applied.disables or any(option in _DISABLING for option in options(value)):
            markers.add("disable")
        if made_by is not None and made_by.info.module is not module:
            around += wrappers.wrapped_by(interpreter, decorator.decorator, made_by)
            if applied.keeps_signature:
                markers.add(KEEPS_SIGNATURE)
        if applied.constant:
            markers.add("assume_constant_result")
        if "" in applied.defaults(module.source.text):
            markers.add(DEFAULT_OF_LOOKUP)
        values.append((decorator.decorator, value))
    if named and is_of_other_compiler(node, named):
        markers.add(OTHER_COMPILER)
    if is_of_numba(named):
        markers.add(NUMBA)
    markers |= {NVTX_RANGE, *CACHES}.intersection(named)
    if values:
        markers |= type_checkers.checked(interpreter, node, values)
    return _Decorators(tuple(values), frozenset(markers), tuple(around))


def _enclosing(interpreter: Interpreter, scope: Scope) -> Scope:
    """``scope``, which a function closes over. The two refer to each other, until
    ``ModuleInfo.break_reference_cycles``.
    """
    if interpreter.main is not None and scope.kind == "function":
        interpreter.main.closures.append(scope)
    return scope


def _closure(scope: Scope) -> Scope:
    # Names of a class body are not visible in its methods.
    while scope.kind == "class" and scope.parent is not None:
        scope = scope.parent
    return scope


def _decorator_name(interpreter: Interpreter, node: cst.BaseExpression, value: Value) -> str | None:
    if isinstance(value, External):
        return value.qualname
    if type(node) is cst.Call:
        return interpreter.callees.get(id(node))
    if type(node) is cst.Attribute and node.attr.value in ("setter", "getter", "deleter"):
        return node.attr.value
    return None


def _decorate(interpreter: Interpreter, node: cst.BaseExpression, wrapper: Value, value: Value) -> Value:
    if wrapper == External("torch.compile") or (
        isinstance(wrapper, Partial) and wrapper.function == External("torch.compile")
    ):
        kwargs = dict(wrapper.kwargs) if isinstance(wrapper, Partial) else {}
        interpreter.emit(Compile, node, form="decorator", target=value, kwargs=kwargs, used=True)
        return Compiled(value, kwargs.get("fullgraph") == Const(True))
    inside = isinstance(wrapper, Function) and wrapper.info.module is interpreter.frame.module
    if inside or isinstance(wrapper, Partial):
        # The decorators of other modules are taken to change nothing, as nearly all do.
        applied = calls.apply(interpreter, node, wrapper, (value,), {})
        return applied if isinstance(applied, (Function, Partial, Compiled)) else value
    if isinstance(wrapper, External) and interpreter.frame.compiled:
        # A decorator is called where its function is defined, also while tracing.
        interpreter.emit(Call, node, qualname=wrapper.qualname, args=(value,), kwargs={})
    return value


def _effect(interpreter: Interpreter, node: cst.BaseExpression, value: Value) -> Effect:
    """What the decorator ``node`` with this ``value`` does to the function that it decorates."""
    made_by = _decorator(interpreter, node, value)
    return NOTHING if made_by is None else made_by.info.effect


def _decorator(interpreter: Interpreter, node: cst.BaseExpression, value: Value) -> Function | None:
    """The function behind the decorator ``node`` with this ``value``: the decorator, or a function that makes it."""
    if type(node) is cst.Call and isinstance(value, ExternalObject):
        value = expressions.evaluate(interpreter, node.func)
    value = imports.decorator(interpreter, value)
    return value if isinstance(value, Function) else None


def _defaults(interpreter: Interpreter, params: cst.Parameters) -> dict[str, Value]:
    return {
        p.name.value: expressions.evaluate(interpreter, p.default)
        for p in (*params.posonly_params, *params.params, *params.kwonly_params)
        if p.default is not None
    }


def define_class(interpreter: Interpreter, node: cst.ClassDef) -> Value:
    """The value that ``class`` binds."""
    frame = interpreter.frame
    bases = tuple(b for arg in node.bases for b in options(expressions.evaluate(interpreter, arg.value)))
    outer = frame.scope.names.get(_OWNER) if frame.scope.kind == "class" else None
    prefix = (
        f"{outer.info.qualname}." if isinstance(outer, Class) else "" if frame.function is None else f"{frame.name}."
    )
    decorators = [expressions.evaluate(interpreter, d.decorator) for d in node.decorators]
    names = [
        _decorator_name(interpreter, d.decorator, v) or "" for d, v in zip(node.decorators, decorators, strict=True)
    ]
    info = ClassInfo(
        node=node,
        name=node.name.value,
        qualname=f"{prefix}{node.name.value}",
        module=frame.module,
        bases=bases,
        attrs={},
        dataclass=any(n.rpartition(".")[2] == "dataclass" for n in names),
        lookups=interpreter.project.lookups,
    )
    value = Class(info)
    scope = Scope("class", {_OWNER: value}, frame.scope)
    frame.scope, saved = scope, frame.scope
    try:
        statements.run_block(interpreter, node.body)
    finally:
        frame.scope = saved
    info.attrs = {k: v for k, v in scope.names.items() if k != _OWNER}
    info.fields = _fields(info, node)
    for place, wrapper in zip(node.decorators, decorators, strict=True):
        for name in _effect(interpreter, place.decorator, wrapper).defaults(frame.module.source.text):
            method = info.attrs.get(name)
            if isinstance(method, Function):
                method.info.markers |= {DEFAULT_OF_LOOKUP}
        type_checkers.mark_methods(interpreter, info, place.decorator, wrapper)
        if wrapper == External("torch.compile"):
            interpreter.emit(Compile, place.decorator, form="decorator", target=value, kwargs={}, used=True)
        if isinstance(wrapper, Function) and wrapper.info.module is frame.module and wrapper.info.keeps_in_table:
            calls.apply(interpreter, place.decorator, wrapper, (value,), {})
    return value


def named_tuple(interpreter: Interpreter, args: tuple[Value, ...]) -> Value:
    """The class that ``collections.namedtuple("Point", "x y")`` makes."""
    if len(args) < 2 or not isinstance(args[0], Const):
        return UNKNOWN
    names = args[1].value.replace(",", " ").split() if isinstance(args[1], Const) else None
    if isinstance(args[1], Seq) and args[1].items is not None:
        names = [item.value for item in args[1].items if isinstance(item, Const)]
    if names is None:
        return UNKNOWN
    name = str(args[0].value)
    node = cst.ClassDef(name=cst.Name(name), body=cst.IndentedBlock(body=[]))
    base = External("typing.NamedTuple")
    return Class(ClassInfo(node, name, name, interpreter.frame.module, (base,), {}, tuple(names)))


def _fields(info: ClassInfo, node: cst.ClassDef) -> tuple[str, ...]:
    inherited = tuple(f for base in info.bases if isinstance(base, Class) for f in base.info.fields)
    if not (info.dataclass or inherited or info.derives("typing.NamedTuple", *torch_tables.PYDANTIC_MODELS)):
        return ()
    own = [
        small.target.value
        for statement in node.body.body
        if type(statement) is cst.SimpleStatementLine
        for small in statement.body
        if type(small) is cst.AnnAssign and type(small.target) is cst.Name
    ]
    return inherited + tuple(f for f in own if f not in inherited)


def is_abstract(info: FunctionInfo) -> bool:
    """Whether a function ends in ``raise NotImplementedError``, so that subclasses define it."""
    body = info.body.body if type(info.body) is cst.IndentedBlock else ()
    last = body[-1] if body else None
    raised = last.body[-1] if type(last) is cst.SimpleStatementLine else None
    error = raised.exc if type(raised) is cst.Raise else None
    name = error.func if type(error) is cst.Call else error
    return type(name) is cst.Name and name.value == "NotImplementedError"


def refuses(info: FunctionInfo) -> bool:
    """Whether a function only raises ``NotImplementedError``, perhaps with a warning before."""
    return is_abstract(info) and not find(info.body, cst.Return)


def parameters(params: cst.Parameters) -> Sequence[cst.Param]:
    """All named parameters in order, keyword-only ones last."""
    return (*params.posonly_params, *params.params, *params.kwonly_params)


def annotation(interpreter: Interpreter, node: cst.BaseExpression) -> Value:
    """The value that an annotation stands for; Unknown where that does not show whether it is tensor data."""
    if type(node) is cst.Name:
        return NONE if node.value == "None" else _plain(peek(interpreter, node))
    if type(node) is cst.SimpleString:
        text = node.evaluated_value
        try:
            node = cst.parse_expression(text if isinstance(text, str) else "None")
        except cst.ParserSyntaxError:
            return UNKNOWN
    if type(node) is cst.BinaryOperation and type(node.operator) is cst.BitOr:
        return _union([annotation(interpreter, node.left), annotation(interpreter, node.right)])
    if type(node) is cst.Subscript:
        return _generic(interpreter, node)
    return _plain(peek(interpreter, node))


def peek(interpreter: Interpreter, node: cst.BaseExpression) -> Value:
    """The value of ``node``; what evaluating it finds is not reported."""
    with interpreter.path(muted=True):
        return expressions.evaluate(interpreter, node)


def _union(parts: list[Value]) -> Value:
    """One of ``parts``. Beside an unknown type or a number, a tensor is only assumed."""
    found = [option for part in parts for option in options(part)]
    if not any(isinstance(option, Unknown) for option in found):
        numbers = any(isinstance(option, PythonValue) and option.kind in _NUMBERS for option in found)
        return join(*(map(mark_assumed, parts) if numbers else parts))
    tensors = [option for option in found if isinstance(option, Tensor)]
    none = [NONE] if NONE in found else []
    return join(*map(mark_assumed, tensors), *none, UNKNOWN) if tensors else UNKNOWN


#: Kinds of Python values that operators take in place of a tensor.
_NUMBERS = ("bool", "int", "float")

_TENSOR_TYPES = {
    "Tensor": None, "LongTensor": "int", "IntTensor": "int", "BoolTensor": "bool", "FloatTensor": "float",
    "HalfTensor": "float", "DoubleTensor": "float", "Parameter": "float", "ByteTensor": "int",
}  # fmt: skip


def _plain(value: Value) -> Value:
    if isinstance(value, TypeAlias):
        return value.value
    if isinstance(value, OneOf):
        return _union([_plain(option) for option in value.options])
    if isinstance(value, Class):
        # The values of its attributes are looked up on first use.
        return Instance(value.info, may_be_subclass=not value.info.is_module)
    if not isinstance(value, External):
        return UNKNOWN
    package, _, name = value.qualname.rpartition(".")
    if package.partition(".")[0] == "torch" and name in _TENSOR_TYPES:
        return Tensor(_TENSOR_TYPES[name])
    if package == "builtins" and name in ("int", "float", "bool", "str"):
        return PythonValue(name)
    if package == "numpy" and name == "ndarray":
        return Tensor(numpy=True)
    if value.qualname in ("torch.Size", "torch.dtype", "torch.device"):
        return PythonValue(name.lower())
    if value.qualname.startswith("torch.nn.") and name not in ("Module",):
        return TorchModule(value.qualname)
    return UNKNOWN


def _generic(interpreter: Interpreter, node: cst.Subscript) -> Value:
    base = peek(interpreter, node.value)
    name = base.qualname.rpartition(".")[2] if isinstance(base, External) else ""
    inner = [e.slice.value for e in node.slice if type(e.slice) is cst.Index]
    if name == "Optional" and inner:
        return _union([annotation(interpreter, inner[0]), NONE])
    if name == "Union":
        return _union([annotation(interpreter, part) for part in inner])
    if name in ("list", "List", "Sequence", "Iterable", "set", "frozenset") and inner:
        return Seq("list", None, mark_assumed(annotation(interpreter, inner[0])))
    if name in ("tuple", "Tuple") and inner:
        if isinstance(inner[-1], cst.Ellipsis):
            return Seq("tuple", None, annotation(interpreter, inner[0]))
        return Seq("tuple", tuple(annotation(interpreter, part) for part in inner))
    if name in ("dict", "Dict", "Mapping") and len(inner) == 2:
        return Mapping((), mark_assumed(annotation(interpreter, inner[1])))
    if name in ("Annotated", "Final", "ClassVar", "Required", "Unpack") and inner:
        return annotation(interpreter, inner[0]) if name != "Unpack" else UNKNOWN
    if isinstance(base, External) and base.qualname.startswith("jaxtyping.") and inner:
        dtype = {"Float": "float", "Int": "int", "Integer": "int", "Bool": "bool"}.get(name)
        found = annotation(interpreter, inner[0])
        return Tensor(dtype) if isinstance(found, Tensor) else found
    return UNKNOWN
