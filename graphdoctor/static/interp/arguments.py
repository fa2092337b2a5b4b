"""Arguments: what a call passes, and what the parameters of the called function hold then."""

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
    """Positional and keyword argument values; a star whose length is unknown ends the positional ones."""
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
    """What ``**value`` passes by name, and under "**" what it may pass besides."""
    found = [option if isinstance(option, Mapping) else Mapping((), UNKNOWN) for option in options(value)]
    kwargs: Kwargs = {}
    for name in dict.fromkeys(k for option in found for k, _ in option.items if isinstance(k, str)):
        values = [v for option in found for k, v in option.items if k == name]
        kwargs[name] = join(*values) if len(values) == len(found) else Seq(MAYBE, None, join(*values))
    rests = [option.rest for option in found if option.rest is not None]
    return {**kwargs, "**": join(*rests)} if rests else kwargs


def for_callee(callee: Value, kwargs: Kwargs) -> Kwargs:
    """``kwargs`` as ``callee`` gets them: where its defaults are not known, as if every table passed each of them."""
    if not kwargs or type(callee) in _WITH_DEFAULTS:
        return kwargs
    return {name: _keyword(value, None) for name, value in kwargs.items()}


#: Callees of scanned code: their parameters are bound by ``bound``.
_WITH_DEFAULTS = frozenset((Function, Class, Instance, Compiled, Partial))


def _keyword(value: Value, default: Value | None) -> Value:
    """What a parameter holds that gets ``value`` by name."""
    if type(value) is not Seq or value.kind != MAYBE:
        return value
    return value.element if default is None else join(value.element, default)


def say_nothing(args: Sequence[cst.Arg]) -> bool:
    """Whether arguments are only names and numbers and what is computed of them: nothing happens when they are read."""
    return all(_is_plain(arg.value) for arg in args)


def _is_plain(node: cst.BaseExpression) -> bool:
    while type(node) is cst.Attribute:
        node = node.value
    if type(node) is cst.BinaryOperation:
        return _is_plain(node.left) and _is_plain(node.right)
    return type(node) in (cst.Name, cst.Integer, cst.Float, cst.SimpleString)


def bound(interpreter: Interpreter, info: FunctionInfo, args: tuple[Value, ...], kwargs: Kwargs) -> dict[str, Value]:
    """Parameter values of a call, by Python's rules; unknown arguments have the value of their annotation."""
    params = info.node.params
    names: dict[str, Value] = {}
    positional = [*params.posonly_params, *params.params]
    positional_args = list(args)
    spread: Value | None = None
    for position, arg in enumerate(positional_args):
        if isinstance(arg, Seq) and arg.kind == STAR:
            # What follows a star of unknown length may be anything that the star stands before.
            alike = all(kinds(value) == kinds(arg.element) for value in positional_args[position + 1 :])
            spread, positional_args = arg.element if alike else UNKNOWN, positional_args[:position]
            break
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
            names[name] = join(kwargs["**"], info.defaults.get(name, UNKNOWN))
        else:
            names[name] = info.defaults.get(name, UNKNOWN)
    for param in params.kwonly_params:
        name = param.name.value
        default = info.defaults.get(name, UNKNOWN)
        if name in kwargs:
            names[name] = _keyword(kwargs[name], info.defaults.get(name))
        else:
            names[name] = join(kwargs["**"], default) if "**" in kwargs else default
    if type(params.star_arg) is cst.Param:
        extra = positional_args[len(positional) :]
        known = spread is None
        names[params.star_arg.name.value] = (
            Seq("tuple", tuple(extra)) if known else Seq("tuple", None, join(spread or UNKNOWN, *extra))
        )
    if params.star_kwarg is not None:
        rest = {k: _keyword(v, None) for k, v in kwargs.items() if k not in names and k != "**"}
        names[params.star_kwarg.name.value] = Mapping(tuple(rest.items()), kwargs.get("**"))
    for param in definitions.parameters(params):
        name = param.name.value
        if param.annotation is None:
            continue
        if isinstance(names[name], Unknown):
            names[name] = annotated_value(interpreter, info, param.annotation.annotation)
        elif not interpreter.assumed and _is_unknown_or_none(names[name]):
            # A later round of a loop passes what it is about.
            names[name] = join(annotated_value(interpreter, info, param.annotation.annotation), NONE)
        elif may_be_tensor(names[name]) and not (is_sure_tensor(names[name]) or _is_reduced(names[name])):
            declared = annotated_value(interpreter, info, param.annotation.annotation)
            if _rather_declared(names[name], declared):
                names[name] = declared
            elif _asks_for_number(declared):
                names[name] = _without_tensors(names[name], declared)
    return names


def _ends_before(default: Value, spread: Value) -> bool:
    """Whether a row of unknown length ends before a parameter with this default.

    One of tensors does before a number, and one of which nothing is known before a flag, as does what ``**`` passes.
    """
    if not isinstance(default, Const) or default.value is None:
        return False
    return may_be_tensor(spread) or (isinstance(spread, Unknown) and isinstance(default.value, bool))


def _is_unknown_or_none(value: Value) -> bool:
    return type(value) is OneOf and all(type(option) is Unknown or option == NONE for option in value.options)


def _is_reduced(value: Value) -> bool:
    """Whether ``value`` is what ``max`` or the like gave: a tensor, whatever the callee asks for."""
    return isinstance(value, Tensor) and value.ndim == 0


def _without_tensors(value: Value, declared: Value) -> Value:
    """What is passed for a number: on the way on which the caller holds a tensor, it would not make the call.

    A tensor by assumption alone is none then.
    """
    rest = narrowed_to(value, lambda option: not isinstance(option, Tensor))
    return declared if isinstance(rest, Tensor) and not rest.is_known else rest


def _rather_declared(value: Value, declared: Value) -> bool:
    """Whether a callee annotated with a container overrules a caller whose value may be a tensor.

    What was surely computed as a tensor serves as a list too, but not as a dict.
    """
    classes = kinds(declared)
    if Tensor in classes or not classes & {Seq, Mapping}:
        return False
    return Mapping in classes or not any(is_sure_tensor(option) for option in options(value))


def _asks_for_number(declared: Value) -> bool:
    """Whether an annotation promises a Python number, or None."""
    numbers = ("int", "float", "bool")
    types = [option for option in options(declared) if option != NONE]
    return bool(types) and all(isinstance(option, PythonValue) and option.kind in numbers for option in types)


def annotated_value(interpreter: Interpreter, info: FunctionInfo, node: cst.BaseExpression) -> Value:
    """The value an annotation of ``info`` promises, names resolved where the function is defined."""
    known = info.promises.get(id(node))
    if known is None:
        frame = Frame(function=None, module=info.module, scope=info.module.scope, statement=info.node, muted=True)
        with interpreter.call(frame):
            known = definitions.annotation(interpreter, node)
        # A name that is not bound yet may be later.
        if known is not UNKNOWN and all(type(part) is Instance or not _has_object(part) for part in options(known)):
            info.promises[id(node)] = known
    return join(*map(_of_its_own, options(known)))


def promised(interpreter: Interpreter, info: FunctionInfo) -> Value | None:
    """What the annotation of a function says that it gives; None without one."""
    returns = None if isinstance(info.node, cst.Lambda) else info.node.returns
    return None if returns is None else annotated_value(interpreter, info, returns.annotation)


def opaque_result(interpreter: Interpreter, info: FunctionInfo, args: tuple[Value, ...]) -> Value:
    """What a function gives into which no trace looks: what it promises, else a tensor where it is given one."""
    return promised(interpreter, info) or (Tensor() if any(map(holds_tensor, args)) else UNKNOWN)


def _has_object(value: Value) -> bool:
    return any(isinstance(part, Instance) for part in walk(value))


def _of_its_own(declared: Value) -> Value:
    """The declared value; an object may be changed, so each call has its own."""
    return Instance(declared.info, may_be_subclass=declared.may_be_subclass) if type(declared) is Instance else declared
