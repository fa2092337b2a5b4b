"""Arguments: what a call passes, and which values the parameters of the called function get."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.program import FunctionInfo
from graphdoctor.static.domain.value_functions import (
    holds_tensor,
    is_sure_tensor,
    join,
    kinds,
    may_be_tensor,
    narrowed_to,
    options,
    walk,
)
from graphdoctor.static.domain.values import (
    MAYBE,
    NONE,
    STAR,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    Function,
    Instance,
    Mapping,
    OneOf,
    Partial,
    PythonValue,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from graphdoctor.static.interp import definitions, expressions, iteration
from graphdoctor.static.interp.interpreter import Interpreter

Kwargs = dict[str, Value]


def passed(interpreter: Interpreter, node: cst.Call) -> tuple[tuple[Value, ...], Kwargs]:
    """Positional and keyword argument values. A ``*args`` of unknown length ends the positional ones."""
    args: list[Value] = []
    kwargs: Kwargs = {}
    for arg in node.args:
        value = expressions.evaluate(interpreter, arg.value)
        if arg.star == "*":
            items, element = iteration.elements(interpreter, arg.value, value)
            args += items if items is not None else [Seq(STAR, None, element)]
        elif arg.star == "**":
            kwargs.update(_spread(value))
        elif arg.keyword is not None:
            kwargs[arg.keyword.value] = value
        else:
            args.append(value)
    return tuple(args), kwargs


def _spread(value: Value) -> Kwargs:
    """What ``**value`` passes: the known names, and under "**" a value for any other name."""
    found = [option if isinstance(option, Mapping) else Mapping((), UNKNOWN) for option in options(value)]
    kwargs: Kwargs = {}
    for name in dict.fromkeys(k for option in found for k, _ in option.items if isinstance(k, str)):
        values = [v for option in found for k, v in option.items if k == name]
        kwargs[name] = join(*values) if len(values) == len(found) else Seq(MAYBE, None, join(*values))
    rests = [option.rest for option in found if option.rest is not None]
    return {**kwargs, "**": join(*rests)} if rests else kwargs


def for_callee(callee: Value, kwargs: Kwargs) -> Kwargs:
    """``kwargs`` as ``callee`` gets them. Where its defaults are not known, a keyword that only some of the dicts in
    ``**options`` pass counts as passed.
    """
    if not kwargs or type(callee) in _WITH_DEFAULTS:
        return kwargs
    return {name: _keyword(value, None) for name, value in kwargs.items()}


#: Callees of scanned code: their parameters are bound by ``bound``.
_WITH_DEFAULTS = frozenset((Function, Class, Instance, Compiled, Partial))


def _keyword(value: Value, default: Value | None) -> Value:
    """The value of a parameter to which ``value`` is passed by name."""
    if type(value) is not Seq or value.kind != MAYBE:
        return value
    return value.element if default is None else join(value.element, default)


def emit_nothing(args: Sequence[cst.Arg]) -> bool:
    """Whether evaluating the arguments emits no events: they are names, numbers and arithmetic."""
    return all(_is_plain(arg.value) for arg in args)


def _is_plain(node: cst.BaseExpression) -> bool:
    while type(node) is cst.Attribute:
        node = node.value
    if type(node) is cst.BinaryOperation:
        return _is_plain(node.left) and _is_plain(node.right)
    return type(node) in (cst.Name, cst.Integer, cst.Float, cst.SimpleString)


def bound(interpreter: Interpreter, info: FunctionInfo, args: tuple[Value, ...], kwargs: Kwargs) -> dict[str, Value]:
    """Parameter values of a call, by Python's rules; unknown arguments have the value of their annotation."""
    names = _by_parameter(info, args, kwargs)
    for param in definitions.parameters(info.node.params):
        if param.annotation is not None:
            name = param.name.value
            names[name] = _annotated(interpreter, info, names[name], param.annotation.annotation)
    return names


def _by_parameter(info: FunctionInfo, args: tuple[Value, ...], kwargs: Kwargs) -> dict[str, Value]:
    """The values that a call passes, by parameter; of a parameter that gets none the default, or Unknown."""
    params = info.node.params
    names: dict[str, Value] = {}
    positional = [*params.posonly_params, *params.params]
    positional_args, spread = _until_star(args)
    for position, param in enumerate(positional):
        name = param.name.value
        if position < len(positional_args):
            names[name] = positional_args[position]
        elif name in kwargs:
            names[name] = _keyword(kwargs[name], info.defaults.get(name))
        elif spread is not None:
            default = info.defaults.get(name, UNKNOWN)
            names[name] = default if _ends_before(default, spread) else spread
        elif "**" in kwargs:
            names[name] = _unnamed(kwargs["**"], info.defaults.get(name))
        else:
            names[name] = info.defaults.get(name, UNKNOWN)
    for param in params.kwonly_params:
        name = param.name.value
        default = info.defaults.get(name, UNKNOWN)
        if name in kwargs:
            names[name] = _keyword(kwargs[name], info.defaults.get(name))
        else:
            names[name] = _unnamed(kwargs["**"], info.defaults.get(name)) if "**" in kwargs else default
    if type(params.star_arg) is cst.Param:
        extra = positional_args[len(positional) :]
        is_counted = spread is None
        names[params.star_arg.name.value] = (
            Seq("tuple", tuple(extra)) if is_counted else Seq("tuple", None, join(spread or UNKNOWN, *extra))
        )
    if params.star_kwarg is not None:
        rest = {k: _keyword(v, None) for k, v in kwargs.items() if k not in names and k != "**"}
        names[params.star_kwarg.name.value] = Mapping(tuple(rest.items()), kwargs.get("**"))
    return names


def _unnamed(rest: Value, default: Value | None) -> Value:
    """The value of a parameter that a dict with unknown names may hold, whose values are ``rest``.

    Of a dict that mixes tensors with what is not known, an option of the function may get either, or its default.
    """
    if default is not None and any(isinstance(option, Unknown) for option in options(rest)):
        return join(UNKNOWN, default)
    return join(rest, UNKNOWN if default is None else default)


def _until_star(args: tuple[Value, ...]) -> tuple[tuple[Value, ...], Value | None]:
    """The arguments before a ``*args`` of unknown length, and the value of any argument from there on; else None."""
    for position, arg in enumerate(args):
        if isinstance(arg, Seq) and arg.kind == STAR:
            # After ``*args`` of unknown length, a parameter may get any of the values that follow.
            alike = all(kinds(value) == kinds(arg.element) for value in args[position + 1 :])
            return args[:position], arg.element if alike else UNKNOWN
    return args, None


def _annotated(interpreter: Interpreter, info: FunctionInfo, value: Value, annotation: cst.BaseExpression) -> Value:
    """``value`` of a parameter with ``annotation``, which is used where the value is unknown or only assumed."""
    if isinstance(value, Unknown):
        return annotated_value(interpreter, info, annotation)
    if not interpreter.region_facts.assumed and _is_unknown_or_none(value):
        # The value may be None in the first iteration of a loop only.
        return join(annotated_value(interpreter, info, annotation), NONE)
    if may_be_tensor(value) and not (is_sure_tensor(value) or _is_reduced(value)):
        declared = annotated_value(interpreter, info, annotation)
        if _annotation_overrules(value, declared):
            return declared
        if _asks_for_number(declared):
            return _without_tensors(value, declared)
    return value


def _ends_before(default: Value, spread: Value) -> bool:
    """Whether ``*args`` of unknown length is taken to end before a parameter with this default.

    Tensors are not passed for a number, nor unknown values for a flag.
    """
    if not isinstance(default, Const) or default.value is None:
        return False
    return may_be_tensor(spread) or (isinstance(spread, Unknown) and isinstance(default.value, bool))


def _is_unknown_or_none(value: Value) -> bool:
    return type(value) is OneOf and all(type(option) is Unknown or option == NONE for option in value.options)


def _is_reduced(value: Value) -> bool:
    """Whether ``value`` is a 0-d tensor, such as the result of ``max``: it is no list, whatever the annotation says."""
    return isinstance(value, Tensor) and value.ndim == 0


def _without_tensors(value: Value, declared: Value) -> Value:
    """``value`` without its tensors, for a parameter that is annotated as a number.

    Where ``value`` is a tensor by assumption alone, the annotation overrules it.
    """
    rest = narrowed_to(value, lambda option: not isinstance(option, Tensor))
    return declared if isinstance(rest, Tensor) and not rest.is_known else rest


def _annotation_overrules(value: Value, declared: Value) -> bool:
    """Whether the annotation of a container overrules a value that may be a tensor.

    A value that is surely a tensor may be passed for a list, but not for a dict.
    """
    classes = kinds(declared)
    if Tensor in classes or not classes & {Seq, Mapping}:
        return False
    return Mapping in classes or not any(is_sure_tensor(option) for option in options(value))


def _asks_for_number(declared: Value) -> bool:
    """Whether an annotation stands for Python numbers or None alone."""
    numbers = ("int", "float", "bool")
    types = [option for option in options(declared) if option != NONE]
    return bool(types) and all(isinstance(option, PythonValue) and option.kind in numbers for option in types)


def annotated_value(interpreter: Interpreter, info: FunctionInfo, node: cst.BaseExpression) -> Value:
    """The value that an annotation of ``info`` stands for. Names are resolved where the function is defined."""
    known = info.annotated.get(id(node))
    if known is None:
        frame = Frame(function=None, module=info.module, scope=info.module.scope, statement=info.node, muted=True)
        with interpreter.call(frame):
            known = definitions.annotation(interpreter, node)
        # A name that is not bound yet may be bound later.
        if known is not UNKNOWN and all(type(part) is Instance or not _has_object(part) for part in options(known)):
            info.annotated[id(node)] = known
    return join(*map(_for_one_call, options(known)))


def declared_result(interpreter: Interpreter, info: FunctionInfo) -> Value | None:
    """The result of a function by its return annotation; None without one."""
    returns = None if isinstance(info.node, cst.Lambda) else info.node.returns
    return None if returns is None else annotated_value(interpreter, info, returns.annotation)


def opaque_result(interpreter: Interpreter, info: FunctionInfo, args: tuple[Value, ...]) -> Value:
    """The result of a function that is not traced: by its return annotation, else a tensor where it is given one."""
    return declared_result(interpreter, info) or (Tensor() if any(map(holds_tensor, args)) else UNKNOWN)


def _has_object(value: Value) -> bool:
    return any(isinstance(part, Instance) for part in walk(value))


def _for_one_call(declared: Value) -> Value:
    """The declared value; a new object in place of an object, since a call may change it."""
    return Instance(declared.info, may_be_subclass=declared.may_be_subclass) if type(declared) is Instance else declared
