"""Functions on abstract values: their alternatives, joining them over paths, narrowing and widening them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, reduce
from operator import is_

import libcst as cst

from graphdoctor.static.domain.values import (
    NONE,
    UNKNOWN,
    ChosenBy,
    Class,
    Const,
    EnumNumber,
    EnumText,
    Function,
    Instance,
    LazyText,
    Mapping,
    Method,
    OneOf,
    Partial,
    PythonValue,
    Seq,
    Tensor,
    Value,
)


def kinds(value: Value) -> frozenset[type]:
    """The classes of the alternatives of ``value``; for a constant the class of the Python value."""
    return frozenset(type(o.value) if type(o) is Const else type(o) for o in options(value))


def enum_member(kind: Class, value: Const) -> Const:
    """The constant ``value`` in the body of ``kind``: in an enum a member, which is a number only in an ``IntEnum``."""
    held = value.value
    if type(held) is str and kind.info.has_text_members:
        return Const(EnumText(held))
    if type(held) is int and kind.info.derives("enum.Enum") and not kind.info.derives("enum.IntEnum", "builtins.int"):
        return Const(EnumNumber(held))
    return value


def options(value: Value) -> tuple[Value, ...]:
    """The alternatives of ``value``: one for everything but ``OneOf``."""
    return value.options if type(value) is OneOf else (value,)


#: A value with more alternatives than this is unknown. Of functions, classes and objects, of which code chooses one,
#: there may be more.
_MOST_OPTIONS = 6
_MOST_CHOICES = 16


def join(*values: Value) -> Value:
    """The value that is one of ``values``."""
    first = values[0]
    if len(values) == 1:
        return first
    seen = list(options(first))
    for value in values:
        if value is not first:
            for option in options(value):
                if option not in seen:
                    seen.append(option)
    if len(seen) == len(options(first)):
        return first
    found = [type(option) for option in seen]
    seen = _merged(seen, found)
    if len(seen) == 1:
        return seen[0]
    if len(seen) > _MOST_OPTIONS:
        chosen = sum(found.count(kind) for kind in (Function, Partial, Class, Instance))
        if len(seen) - chosen > _MOST_OPTIONS or chosen > _MOST_CHOICES:
            return UNKNOWN
    return OneOf(tuple(seen))


def _merged(seen: list[Value], found: list[type[Value]]) -> list[Value]:
    """``seen``, whose classes are ``found``, with one value in place of several that are much alike."""
    if found.count(Tensor) > 1:
        # An array of numpy stays an alternative of its own: what takes a tensor does not take it.
        tensors = [[o for o in seen if isinstance(o, Tensor) and o.numpy is numpy] for numpy in (False, True)]
        merged = [reduce(merge_tensors, alike) for alike in tensors if alike]
        seen = merged + [o for o in seen if not isinstance(o, Tensor)]
    if found.count(Mapping) > 1:
        dicts = [option for option in seen if isinstance(option, Mapping)]
        seen = [o for o in seen if not isinstance(o, Mapping) or not any(_stands_for_both(d, o) for d in dicts)]
    if found.count(PythonValue) > 1:
        seen = list(dict.fromkeys(replace(o, sample=None) if isinstance(o, PythonValue) else o for o in seen))
    if found.count(Const) > 3:
        constants = [o for o in seen if isinstance(o, Const) and o.value is not None]
        if len(constants) > 3:
            names = {"str" if isinstance(o.value, str) else type(o.value).__name__ for o in constants}
            others = [o for o in seen if not isinstance(o, Const) or o.value is None]
            seen = [*others, PythonValue(names.pop() if len(names) == 1 else "object")]
    return seen


def _stands_for_both(one: Mapping, other: Mapping) -> bool:
    """Whether ``one`` stands for both dicts: they differ only in items that are unknown in ``one``."""
    values = dict(other.items)
    if one.rest != other.rest or values.keys() != dict(one.items).keys():
        return False
    apart = [value for key, value in one.items if value != values[key]]
    return bool(apart) and all(value == UNKNOWN for value in apart)


def merge_tensors(a: Tensor, b: Tensor) -> Tensor:
    """What holds of both."""
    return Tensor(
        dtype=a.dtype if a.dtype == b.dtype else None,
        ndim=a.ndim if a.ndim == b.ndim else None,
        numpy=a.numpy and b.numpy,
        is_known=a.is_known and b.is_known,
        owned=a.owned and b.owned,
        argument=a.argument and b.argument,
        sparse=a.sparse and b.sparse,
        constant=a.constant and b.constant,
        sizes=a.sizes if a.sizes == b.sizes else None,
        unbacked=a.unbacked and b.unbacked,
        subclass=a.subclass and b.subclass,
    )


def marked(flag: Value, other: Value, chosen_by: ChosenBy) -> Value:
    """``flag``, marked where it is a flag or a number, and ``chosen_by`` chose between it and the tensor ``other``."""
    plain = all(type(o) is Const and isinstance(o.value, (bool, int, float)) for o in options(flag))
    if not plain or not may_be_tensor(other):
        return flag
    if not all(isinstance(o, Tensor) or (isinstance(o, Const) and o.chosen_by) for o in options(other)):
        return flag
    return join(*[replace(option, chosen_by=chosen_by) for option in options(flag) if isinstance(option, Const)])


def join_arms(arms: Sequence[Value], chosen_by: ChosenBy) -> Value:
    """The value of a choice between ``arms``, which tensor data or the mode make, or something else."""
    if chosen_by and len(arms) == 2:
        return join(marked(arms[0], arms[1], chosen_by), marked(arms[1], arms[0], chosen_by))
    return join(*arms)


def as_arguments(value: Value) -> Value:
    """``value`` with the tensors in it as inputs of a graph, not results in it."""
    if type(value) not in _HOLDERS:
        return value
    if isinstance(value, Tensor):
        return value if value.argument else _as_argument(value)
    if isinstance(value, OneOf):
        found = [as_arguments(option) for option in value.options]
        return value if all(map(is_, found, value.options)) else join(*found)
    if isinstance(value, Seq):
        element = as_arguments(value.element)
        items = None if value.items is None else tuple([as_arguments(item) for item in value.items])
        if element is value.element and (items is None or all(map(is_, items, value.items or ()))):
            return value
        return Seq(value.kind, items, element)
    if isinstance(value, Mapping):
        rest = None if value.rest is None else as_arguments(value.rest)
        return Mapping(tuple((key, as_arguments(item)) for key, item in value.items), rest)
    return value


@cache
def _as_argument(tensor: Tensor) -> Tensor:
    return replace(tensor, argument=True, constant=False)


#: The classes of values that are tensors or may hold some.
_HOLDERS = frozenset((Tensor, OneOf, Seq, Mapping))


def with_drawn_read(value: Value) -> Value:
    """``value`` with plain numbers in place of those that were drawn: the graph that drew them has ended."""
    if type(value) is PythonValue:
        return replace(value, drawn=False) if value.drawn else value
    if type(value) is OneOf:
        return join(*map(with_drawn_read, value.options)) if may_be_drawn(value) else value
    if type(value) is Seq and (may_be_drawn(value.element) or any(map(may_be_drawn, value.items or ()))):
        items = None if value.items is None else tuple(map(with_drawn_read, value.items))
        return Seq(value.kind, items, with_drawn_read(value.element))
    return value


def widen_strings(value: Value) -> Value:
    """``value`` widened: any string in place of its strings, and a dict of unknown items in place of its dicts."""
    return join(*map(_widen_string, value.options)) if type(value) is OneOf else _widen_string(value)


def _widen_string(value: Value) -> Value:
    if type(value) is Const and type(value.value) is str:
        return PythonValue("str")
    return Mapping((), UNKNOWN) if type(value) is Mapping else value


def widen_numbers(value: Value) -> Value:
    """``value`` widened: any number in place of its numbers, and any flag in place of its flags."""
    return join(*map(_widen_number, value.options)) if type(value) is OneOf else _widen_number(value)


def widen_numbers_within(value: Value) -> Value:
    """``widen_numbers`` of ``value``, or of the items where it is a list or a dictionary."""
    if type(value) is Mapping:
        return Mapping(tuple((key, widen_numbers(item)) for key, item in value.items), value.rest)
    if type(value) is Seq and value.items is not None:
        return replace(value, items=tuple(map(widen_numbers, value.items)))
    return widen_numbers(value)


def _widen_number(value: Value) -> Value:
    if type(value) is Const and type(value.value) in (int, float, bool):
        return PythonValue(type(value.value).__name__)
    return value


def set_of(kind: str, items: Sequence[Value]) -> Seq:
    """A set of ``items``: equal constants count once, and of other values it is not known whether they are equal."""
    if all(isinstance(item, Const) for item in items):
        return Seq(kind, tuple(dict.fromkeys(items)))
    return Seq(kind, tuple(items)) if len(items) == 1 else Seq(kind, None, join(*items))


def narrowed_to(value: Value, test: Callable[[Value], bool]) -> Value:
    """``value`` narrowed to the alternatives that pass ``test``; unchanged when none does."""
    kept = [o for o in options(value) if test(o)]
    return join(*kept) if kept else value


def is_tensor(value: Value) -> bool:
    """True when every alternative is tensor data."""
    return type(value) is Tensor or all(type(o) is Tensor for o in options(value))


def is_read(value: Value) -> bool:
    """True when every alternative is a number that was read from tensor data."""
    if type(value) is OneOf:
        return all(type(o) is PythonValue and o.data_dependent for o in value.options)
    return type(value) is PythonValue and value.data_dependent


def is_drawn(value: Value) -> bool:
    """True when every alternative is a number that Python's ``random`` drew in compiled code."""
    if type(value) is OneOf:
        return all(type(option) is PythonValue and option.drawn for option in value.options)
    return type(value) is PythonValue and value.drawn


def may_be_drawn(value: Value) -> bool:
    """True when one of the alternatives is such a number."""
    return any(type(option) is PythonValue and option.drawn for option in options(value))


def is_sure_tensor(value: Value) -> bool:
    """True when ``value`` is tensor data and nothing else, and not only by assumption."""
    return isinstance(value, Tensor) and value.is_known


def may_be_tensor(value: Value) -> bool:
    """True when some alternative is tensor data."""
    return type(value) is Tensor or (type(value) is OneOf and any(type(o) is Tensor for o in value.options))


def name_of(value: Value) -> str | None:
    """The ``__name__`` of a function; None where it is another value, or a decorator may have changed the name."""
    if not isinstance(value, Function) or not isinstance(value.info.node, cst.FunctionDef):
        return None
    return None if value.info.node.decorators else value.info.name


def has_name(value: Value, name: Value) -> bool | None:
    """Whether ``value`` is the function of that ``__name__``; None where it cannot be told."""
    own = name_of(value)
    return None if own is None or not isinstance(name, Const) else own == name.value


def is_text(value: Value) -> bool:
    """True when ``value`` is a string and nothing else."""
    if isinstance(value, Const):
        return isinstance(value.value, str)
    return isinstance(value, LazyText) or (isinstance(value, PythonValue) and value.kind == "str")


def is_number(value: Value) -> bool:
    """True when every alternative is an int or a float of Python."""
    return all(type(o) is PythonValue and o.kind in ("int", "float") for o in map(_widen_number, options(value)))


def tensor_of(value: Value) -> Tensor | None:
    """The tensor alternative of ``value``, if any."""
    for option in options(value):
        if isinstance(option, Tensor):
            return option
    return None


def walk(value: Value, depth: int = 3) -> Iterator[Value]:
    """``value`` and what it contains, containers opened to ``depth``."""
    for option in options(value):
        yield option
        if depth <= 0:
            continue
        if isinstance(option, Seq):
            for item in option.items if option.items is not None else (option.element,):
                yield from walk(item, depth - 1)
        elif isinstance(option, Mapping):
            for _, item in option.items:
                yield from walk(item, depth - 1)
            if option.rest is not None:
                yield from walk(option.rest, depth - 1)
        elif isinstance(option, Instance):
            for item in list(option.attrs.values()):
                yield from walk(item, depth - 1)


def holds_tensor(value: Value) -> bool:
    """True when ``value`` is a tensor or a container (or object) that holds one."""
    return any(isinstance(v, Tensor) for v in walk(value))


def holds_only_tensors(value: Value) -> bool:
    """Whether a list or tuple and the lists in it hold tensors alone; True for a tensor."""
    if isinstance(value, Seq):
        return all(holds_only_tensors(each) for part in value.items or (value.element,) for each in options(part))
    return isinstance(value, Tensor)


def mark_assumed(value: Value) -> Value:
    """``value`` with its tensors marked as assumed rather than known."""
    return join(*(replace(o, is_known=False) if isinstance(o, Tensor) else o for o in options(value)))


def holds_sparse(value: Value) -> bool:
    """Whether ``value`` may be a sparse tensor."""
    if type(value) is OneOf:
        return any(map(holds_sparse, value.options))
    return type(value) is Tensor and value.sparse


def dense(value: Value) -> Value:
    """``value`` where a sparse tensor in it is a dense one."""
    return join(*(replace(o, sparse=False) if type(o) is Tensor and o.sparse else o for o in options(value)))


def without_methods_of_none(callee: OneOf) -> Value:
    """``callee`` without the methods of None: where the value is None, the call raises."""
    left = [option for option in callee.options if not (type(option) is Method and option.receiver == NONE)]
    return join(*left) if left else callee
