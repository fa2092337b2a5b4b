"""Python's built-in functions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import libcst as cst

from graphdoctor.static.domain import instance_checks, named_attributes, torch_tables
from graphdoctor.static.domain.events import Convert, Decide, GetAttr, SetAttr, Specialise, Truth
from graphdoctor.static.domain.value_functions import (
    holds_tensor,
    is_drawn,
    is_read,
    is_sure_tensor,
    is_tensor,
    join,
    may_be_tensor,
    options,
    set_of,
    tensor_of,
)
from graphdoctor.static.domain.values import (
    NONE,
    STAR,
    UNKNOWN,
    Class,
    Compiled,
    Const,
    External,
    ExternalObject,
    Function,
    Instance,
    LazyText,
    Mapping,
    Method,
    Partial,
    PythonValue,
    Seq,
    Tensor,
    TorchModule,
    Value,
)
from graphdoctor.static.interp import attributes, calls, iteration, objects
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.operators import arithmetic
from graphdoctor.static.library_models import unknown_numbers
from graphdoctor.static.library_models.sorting import applied, compared, extreme_by_key

Kwargs = dict[str, Value]

#: The items of longer ranges are any number: most loops over them build layers that are alike, and with each number
#: known, each layer would be another one.
_MOST_COUNTED = 4
#: Longer lists of pairs are tables of names: joining their values would compare each with each.
_MOST_ENTRIES = 64

_CASTS = {"int": int, "float": float, "bool": bool, "complex": complex, "str": str}


def call_builtin(
    interpreter: Interpreter, node: cst.CSTNode, name: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """The value of ``name(*args, **kwargs)`` for a name of the builtins module."""
    if args and name in _READERS:
        arithmetic.use(interpreter, node, args[0], name)
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(interpreter, node, args, kwargs)
    if name in _CASTS:
        return _cast(interpreter, node, name, args)
    if name == "hash" and args and (is_sure_tensor(args[0]) or (isinstance(args[0], Seq) and holds_tensor(args[0]))):
        return LazyText("int")
    if name in ("repr", "ascii", "hash", "format"):
        if args and holds_tensor(args[0]) and not isinstance(args[0], Instance):
            interpreter.emit(
                Convert,
                node,
                value=args[0],
                to="hash" if name == "hash" else "format" if name == "format" else "repr",
                how=name,
            )
        return PythonValue("int" if name == "hash" else "str")
    if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter"):
        return _collect(interpreter, node, name, args, kwargs)
    if name.endswith(("Error", "Exception", "Warning")):
        return UNKNOWN
    return _RESULTS.get(name, UNKNOWN)


def _slice(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    for bound in args:
        if may_be_tensor(bound):
            interpreter.emit(Convert, node, value=bound, to="index", how="slice")
    return ExternalObject("builtins.slice")


#: Functions that need the text or number itself.
_READERS = frozenset({"len", "int", "float", "sorted", "list"})

_RESULTS: dict[str, Value] = {
    "print": NONE,
    "id": PythonValue("int"),
    "input": PythonValue("str"),
    "ord": PythonValue("int"),
    "chr": PythonValue("str"),
    "object": PythonValue("object"),
    "setattr": NONE,
    "delattr": NONE,
}


def _cast(interpreter: Interpreter, node: cst.CSTNode, name: str, args: tuple[Value, ...]) -> Value:
    value = args[0] if args else Const(None)
    if isinstance(value, Instance):
        method = {"int": "__int__", "float": "__float__", "bool": "__bool__", "str": "__str__"}.get(name, "")
        if value.info.lookup(method) is not None:
            return calls.call_method(interpreter, node, value, method, ())
    if may_be_tensor(value) or (name == "str" and holds_tensor(value)):
        interpreter.emit(Convert, node, value=value, to=name, how=name)
        return unknown_numbers.number_of(interpreter, value, name)
    unknown_numbers.need(interpreter, node, value)
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float, str)) and len(args) == 1:
        try:
            return Const(_CASTS[name](value.value))
        except (ValueError, OverflowError):
            return PythonValue(name)
    if isinstance(value, PythonValue) and (
        isinstance(value.sample, str) or (name == "bool" and value.sample is not None)
    ):
        default = _cast(interpreter, node, name, (Const(value.sample),))
        known = isinstance(default, Const) and isinstance(default.value, (int, str))
        return PythonValue(name, sample=default.value if isinstance(default, Const) and known else None)
    return PythonValue(
        name, shape=isinstance(value, PythonValue) and value.shape, data_dependent=name != "bool" and is_read(value)
    )


def _collect(interpreter: Interpreter, node: cst.CSTNode, name: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    if not args:
        return Seq(name, ())
    items, element = iteration.elements(interpreter, node, args[-1])
    if name == "sorted":
        compared(interpreter, node, element, kwargs)
    if name == "filter" and len(args) == 2:
        kept = element if args[0] == NONE else applied(interpreter, node, args[0], element)
        if may_be_tensor(kept):
            interpreter.emit(Truth, node, value=kept, context="comprehension", branch=None)
        return Seq("iterator", None, element)
    kind = {"sorted": "list", "reversed": "iterator", "iter": "iterator"}.get(name, name)
    if name in ("set", "frozenset") and is_read(element):
        interpreter.emit(Decide, node, how="set")
    if items is not None and name in ("set", "frozenset"):
        return set_of(name, items)
    if items is not None and name != "sorted":
        return Seq(kind, tuple(reversed(items)) if name == "reversed" else tuple(items))
    return Seq(kind, None, element)


def _isinstance(_interpreter: Interpreter, _node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    return _agreed({instance_checks.fits(option, args[1]) for option in options(args[0])} if len(args) == 2 else set())


def _issubclass(_interpreter: Interpreter, _node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    pairs = [(one, other) for one in options(args[0]) for other in options(args[1])] if len(args) == 2 else []
    return _agreed({instance_checks.derives(one, other) for one, other in pairs})


def _callable(_interpreter: Interpreter, _node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    return _agreed({_is_callable(option) for option in options(args[0])} if args else set())


def _agreed(verdicts: set[bool | None]) -> Value:
    """What each possible value is said to give, where all give the same."""
    return Const(verdicts.pop()) if len(verdicts) == 1 and None not in verdicts else PythonValue("bool")


def _is_callable(value: Value) -> bool | None:
    if isinstance(value, Instance):
        known = value.info.is_module or value.info.lookup("__call__") is not None
        return True if known else None if value.info.externals else False
    if isinstance(value, PythonValue):
        return False if value.kind in ("bool", "int", "float", "str") else None
    if isinstance(value, (Function, Class, TorchModule, Partial, Method, Compiled)):
        return True
    return False if isinstance(value, (Tensor, Const, Seq, Mapping)) else None


def _len(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    value = args[0] if args else UNKNOWN
    if isinstance(value, Seq) and value.items is not None:
        return Const(len(value.items))
    if isinstance(value, Mapping) and value.rest is None:
        return Const(len(value.items))
    if isinstance(value, Instance) and value.info.lookup("__len__") is not None:
        return calls.call_method(interpreter, node, value, "__len__", ())
    if isinstance(value, Tensor):
        return attributes.rows_of(value)
    return PythonValue("int", shape=may_be_tensor(value))


def _range(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    for value in args:
        if may_be_tensor(value):
            interpreter.emit(Convert, node, value=value, to="range", how="range")
            return Seq("range", None, PythonValue("int"))
        unknown_numbers.need(interpreter, node, value)
    if interpreter.region_facts.has_dynamic_sizes and any(isinstance(a, PythonValue) and a.shape for a in args):
        interpreter.emit(Specialise, node, how="range")
    if any(map(is_read, args)):
        interpreter.emit(Decide, node, how="range")
    numbers = [a.value for a in args if isinstance(a, Const) and isinstance(a.value, int)]
    if len(numbers) == len(args):
        try:
            counted = range(*numbers)
            if len(counted) <= _MOST_COUNTED:
                return Seq("range", tuple(Const(i) for i in counted))
        except (TypeError, ValueError, OverflowError):
            # Too many numbers, a step of zero, or more steps than Python counts.
            pass
    return Seq("range", None, PythonValue("int"))


def _extreme(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    values = list(args)
    if len(values) == 1:
        items, element = iteration.elements(interpreter, node, values[0])
        values = items if items else [element]
    if "key" in kwargs:
        element, of_tensors = join(*values), holds_tensor(args[0]) or any(map(holds_tensor, values))
        extreme_by_key(interpreter, node, element, kwargs["key"], of_tensors)
        return element
    if any(isinstance(v, Seq) for v in values):
        element = join(*values)
        compared(interpreter, node, element, {})
        return element
    tensors = [t for v in values if (t := tensor_of(v)) is not None]
    if tensors:
        return Tensor(tensors[0].dtype, numpy=all(t.numpy for t in tensors), is_known=tensors[0].is_known)
    if values and all(isinstance(v, (Const, PythonValue)) for v in values):
        kinds = {
            type(v.value).__name__ if isinstance(v, Const) else v.kind
            for v in values
            if isinstance(v, (Const, PythonValue))
        }
        kind = kinds.pop() if len(kinds) == 1 else "float"
        shape = any(isinstance(v, PythonValue) and v.shape for v in values)
        return PythonValue(kind, shape=shape, data_dependent=any(map(is_read, values)))
    return UNKNOWN


def _sum(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    _, element = iteration.elements(interpreter, node, args[0]) if args else (None, UNKNOWN)
    tensor = tensor_of(element)
    if tensor is not None:
        return Tensor(tensor.dtype, numpy=tensor.numpy, is_known=tensor.is_known)
    return element if isinstance(element, PythonValue) else UNKNOWN


def _any_all(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    _, element = iteration.elements(interpreter, node, args[0]) if args else (None, UNKNOWN)
    if is_tensor(element):
        interpreter.emit(Truth, node, value=element, context="call", branch=None)
    elif is_drawn(element):
        unknown_numbers.decide(interpreter, node, element)
    return PythonValue("bool")


def _abs(_interpreter: Interpreter, _node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    return args[0] if args else UNKNOWN


def _arithmetic(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    if args and may_be_tensor(args[0]):
        return replace(tensor_of(args[0]) or Tensor(), owned=False)
    if len(args) > 1 and is_tensor(args[1]):
        # `pow(0.9, x)`, `divmod(1, x)`: the number takes the shape of the tensor.
        return replace(tensor_of(args[1]) or Tensor(), owned=False, argument=False, dtype=None)
    for value in args[:2]:
        unknown_numbers.need(interpreter, node, value)
    return PythonValue("int" if len(args) == 1 else "float")


def _enumerate(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    items, element = iteration.elements(interpreter, node, args[0]) if args else (None, UNKNOWN)
    if items is not None and len(args) == 1 and not kwargs:
        return Seq("iterator", tuple(Seq("tuple", (Const(i), v)) for i, v in enumerate(items)))
    return Seq("iterator", None, Seq("tuple", (PythonValue("int"), element)))


def _zip(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    if len(args) == 1 and isinstance(args[0], Seq) and args[0].kind == STAR:
        # ``zip(*pairs)``: the number of pairs is unknown, and each column holds one part of a pair.
        return Seq("iterator", None, Seq("tuple", None, iteration.elements(interpreter, None, args[0].element)[1]))
    rows = [iteration.elements(interpreter, node, a) for a in args]
    if rows and all(items is not None for items, _ in rows):
        return Seq(
            "iterator", tuple(Seq("tuple", row) for row in zip(*(items or [] for items, _ in rows), strict=False))
        )
    return Seq("iterator", None, Seq("tuple", tuple(e for _, e in rows)))


def _map(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    if len(args) < 2:
        return UNKNOWN
    columns = [iteration.elements(interpreter, node, a)[1] for a in args[1:]]
    result = join(*(calls.apply(interpreter, node, option, tuple(columns), {}) for option in options(args[0])))
    return Seq("iterator", None, result)


def _next(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    return iteration.elements(interpreter, node, args[0])[1] if args else UNKNOWN


def _getattr(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    if len(args) < 2:
        return UNKNOWN
    return join(*(_named(interpreter, node, args[0], name, args[2:]) for name in options(args[1])))


def _named(interpreter: Interpreter, node: cst.CSTNode, owner: Value, name: Value, default: tuple[Value, ...]) -> Value:
    """``getattr`` with a name of which several are possible, or a part is known."""
    if isinstance(name, PythonValue) and name.affixes is not None and isinstance(owner, Instance):
        named = named_attributes.names_between(owner, *name.affixes)
        if not named and sum(map(len, name.affixes)) >= _FEWEST_LETTERS:
            named = list(owner.info.methods_between(*name.affixes))
        return join(*(attributes.read_attribute(interpreter, node, owner, n) for n in named)) if named else UNKNOWN
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return External(torch_tables.ANY_LAYER) if owner == External("torch.nn") and not default else UNKNOWN
    found = attributes.read_attribute(interpreter, node, owner, name.value)
    known = isinstance(owner, Instance) and name.value in owner.attrs
    known = known or (isinstance(found, External) and found.qualname in torch_tables.COMPILE_TIME)
    return join(found, *default) if not known else found


#: The shortest known part of a name that says which methods are meant: ``f"_{kind}"`` could be any.
_FEWEST_LETTERS = 3


def _hasattr(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    if len(args) == 2 and isinstance(args[0], Instance) and isinstance(args[1], Const):
        name = str(args[1].value)
        known = name in args[0].attrs or args[0].info.lookup(name) is not None
        if not known and named_attributes.reads_entry(args[0].info, name):
            interpreter.emit(GetAttr, node, receiver=args[0], name=name)
        return Const(True) if known else PythonValue("bool")
    return PythonValue("bool")


def _setattr(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    for option in options(args[0]) if len(args) == 3 else ():
        if isinstance(args[1], Const) and isinstance(args[1].value, str):
            interpreter.emit(SetAttr, node, receiver=option, name=args[1].value, value=args[2], augmented=False)
        if isinstance(option, Instance):
            named_attributes.store(option, args[1], args[2])
        elif isinstance(option, Class) and isinstance(args[1], Const):
            objects.patch_class(interpreter, option, str(args[1].value), args[2])
    return NONE


def _type(_interpreter: Interpreter, _node: cst.CSTNode, args: tuple[Value, ...], _kwargs: Kwargs) -> Value:
    value = args[0] if args else UNKNOWN
    return Class(value.info, exact=not value.may_be_subclass) if isinstance(value, Instance) else UNKNOWN


def _dict(interpreter: Interpreter, node: cst.CSTNode, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    if args and isinstance(args[0], Mapping):
        return Mapping((*args[0].items, *kwargs.items()), args[0].rest)
    if args and isinstance(args[0], Seq) and len(args[0].items or ()) > _MOST_ENTRIES:
        return Mapping(tuple(kwargs.items()), UNKNOWN)
    if args:
        pairs, element = iteration.elements(interpreter, node, args[0])
        items = [_entry(pair) for pair in pairs or ()]
        if pairs is not None and None not in items:
            rest = kwargs.pop("**", None)
            held: dict[Any, Value] = {**dict(filter(None, items)), **kwargs}
            return Mapping(tuple(held.items()), rest)
        value = element.items[1] if isinstance(element, Seq) and element.items and len(element.items) == 2 else UNKNOWN
        return Mapping(tuple(kwargs.items()), value)
    rest = kwargs.pop("**", None)
    return Mapping(tuple(kwargs.items()), rest)


def _entry(pair: Value) -> tuple[Any, Value] | None:
    """The key and the value that a pair puts into a dict; None where its key is not known."""
    if not isinstance(pair, Seq) or pair.items is None or len(pair.items) != 2:
        return None
    key, value = pair.items
    return (key.value, value) if isinstance(key, Const) else None


_HANDLERS = {
    "isinstance": _isinstance, "issubclass": _issubclass, "callable": _callable,
    "len": _len, "range": _range, "min": _extreme, "max": _extreme,
    "sum": _sum, "any": _any_all, "all": _any_all, "abs": _abs, "pow": _arithmetic, "round": _arithmetic, "divmod":
    _arithmetic, "enumerate": _enumerate, "zip": _zip, "map": _map, "next": _next, "getattr": _getattr, "hasattr":
    _hasattr, "setattr": _setattr, "type": _type, "dict": _dict, "slice": _slice,
}  # fmt: skip
