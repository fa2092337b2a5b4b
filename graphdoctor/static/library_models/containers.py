"""Methods and operators of lists, tuples, sets and dicts."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import Grow, Truth
from graphdoctor.static.domain.value_functions import join, may_be_tensor
from graphdoctor.static.domain.values import NONE, UNKNOWN, Const, Mapping, PythonValue, Seq, Value
from graphdoctor.static.interp import assignments, iteration
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models.method_call import MethodCall
from graphdoctor.static.library_models.sorting import compared

Kwargs = dict[str, Value]


def sequence(interpreter: Interpreter, call: MethodCall) -> Value:
    """Call a method of a list, a tuple, a set or another sequence."""
    receiver: Seq = call.receiver
    node, name, args = call.node, call.name, call.args
    if name in ("append", "insert", "add", "appendleft", *_EXTENDERS):
        container = call.written_receiver if receiver.kind == "list" else None
        # A list in a dict or list lives as long as that does.
        holder = container.value if isinstance(container, cst.Subscript) else container
        if container is not None and holder is not None and assignments.outlives_call(interpreter, holder):
            interpreter.emit(Grow, node, container=container)
        _grow(interpreter, call)
        return NONE
    if name in ("pop", "popleft"):
        return join(*receiver.items) if receiver.items else receiver.element
    if name == "numel":
        return PythonValue("int", shape=True)
    if name in ("index", "count", "remove"):
        held = receiver.items if receiver.items is not None else (receiver.element,)
        if args and may_be_tensor(args[0]) and any(may_be_tensor(v) for v in held):
            interpreter.emit(Truth, node, value=args[0], context="in", branch=None)
        return NONE if name == "remove" else PythonValue("int")
    if name == "copy":
        return receiver
    if name == "rotate":
        call.emit(interpreter, "collections.deque.rotate")
    if name == "sort" and receiver.kind == "list" and receiver.items != ():
        compared(interpreter, node, join(*receiver.items) if receiver.items else receiver.element, call.kwargs)
    return NONE if name in ("sort", "reverse", "clear", "discard") else UNKNOWN


#: Methods that add all elements of their argument.
_EXTENDERS = ("extend", "extendleft", "update")


def _grow(interpreter: Interpreter, call: MethodCall) -> None:
    """Put the elements that the method adds into what holds the sequence."""
    receiver: Seq = call.receiver
    name, args = call.name, call.args
    if call.written_receiver is None or not args:
        return
    if name in _EXTENDERS:
        items, element = iteration.elements(interpreter, None, args[0])
    else:
        items, element = [args[-1]], args[-1]
    known = receiver.items if receiver.items is not None else None
    if (
        known is not None
        and items is not None
        and name in ("append", "extend")
        and len(known) + len(items) <= 32
        and not interpreter.frame.whole_frame
    ):
        grown = Seq(receiver.kind, (*known, *items))
    elif known == () and not interpreter.frame.whole_frame:
        grown = Seq(receiver.kind, None, element)
    else:
        grown = Seq(receiver.kind, None, join(element, *(known if known is not None else (receiver.element,))))
    assignments.put_back(interpreter, call.written_receiver, grown)


def _put_default(interpreter: Interpreter, call: MethodCall, default: Value) -> None:
    """Put ``default`` into a dict that may not have the key."""
    receiver: Mapping = call.receiver
    if call.written_receiver is None or not call.args:
        return
    key, rest = call.args[0], receiver.rest
    if not isinstance(key, Const):
        rest = default if rest is None else join(rest, default)
        assignments.put_back(interpreter, call.written_receiver, Mapping(receiver.items, rest))
    elif all(name != key.value for name, _ in receiver.items):
        given = default if rest is None else join(rest, default)
        assignments.put_back(interpreter, call.written_receiver, Mapping((*receiver.items, (key.value, given)), rest))


def mapping(interpreter: Interpreter, call: MethodCall) -> Value:
    """Call a method of a dict."""
    receiver: Mapping = call.receiver
    name, args = call.name, call.args
    values = [v for _, v in receiver.items] + ([receiver.rest] if receiver.rest is not None else [])
    one = join(*values) if values else UNKNOWN
    if name in ("get", "pop", "setdefault"):
        default = args[1] if len(args) > 1 else NONE
        if name == "setdefault":
            _put_default(interpreter, call, default)
        if args and isinstance(args[0], Const):
            found = receiver.get(args[0].value)
            if found is None:
                return default
            return found if any(k == args[0].value for k, _ in receiver.items) else join(found, default)
        return join(one, default)
    if name == "items":
        if receiver.rest is None:
            return Seq("list", tuple(Seq("tuple", (Const(k), v)) for k, v in receiver.items))
        return Seq("list", None, Seq("tuple", (PythonValue("object"), one)))
    if name == "values":
        return Seq("list", tuple(values)) if receiver.rest is None else Seq("list", None, one)
    if name == "keys":
        return (
            Seq("list", tuple(Const(k) for k, _ in receiver.items))
            if receiver.rest is None
            else Seq("list", None, PythonValue("object"))
        )
    if name == "copy":
        return receiver
    if name == "most_common" and args == (Const(1),):
        # Of more Dynamo traces the sorting, where there are no more.
        call.emit(interpreter, "collections.Counter.most_common")
    if name == "update" and call.written_receiver is not None:
        assignments.put_back(interpreter, call.written_receiver, _updated(receiver, args, call.kwargs))
        return NONE
    return UNKNOWN


def _updated(receiver: Mapping, args: tuple[Value, ...], kwargs: Kwargs) -> Mapping:
    """A dict after its ``update(*args, **kwargs)``."""
    items = dict(receiver.items)
    rest = receiver.rest
    for arg in args:
        if isinstance(arg, Mapping):
            items.update(arg.items)
            rest = arg.rest if rest is None else rest
        else:
            rest = UNKNOWN
    items.update(kwargs)
    return Mapping(tuple(items.items()), rest)


def combined(name: str, a: Value, b: Value) -> Value | None:
    """``a <name> b`` where one is a list or tuple, or both are dicts; None for other values."""
    if isinstance(a, Seq) and a.kind != "union":
        return with_sequence(name, a, b)
    if isinstance(b, Seq) and name == "Multiply":
        return with_sequence(name, b, a)
    if isinstance(a, Mapping) and isinstance(b, Mapping) and name == "BitOr":
        merged = dict(a.items) | dict(b.items)
        return Mapping(tuple(merged.items()), a.rest if b.rest is None else b.rest)
    return None


def with_sequence(name: str, a: Seq, b: Value) -> Value:
    """``a <name> b`` of a list or tuple ``a``; also ``b * a``."""
    if name == "Add" and isinstance(b, Seq):
        if a.items is not None and b.items is not None and len(a.items) + len(b.items) <= 64:
            return Seq(a.kind, a.items + b.items)
        # An empty one adds nothing.
        parts = [part for each in (a, b) for part in (each.items if each.items is not None else (each.element,))]
        return Seq(a.kind, None, join(*parts))
    if name == "Multiply":
        if a.items is not None and isinstance(b, Const) and isinstance(b.value, int) and len(a.items) * b.value <= 64:
            return Seq(a.kind, a.items * b.value)
        return Seq(a.kind, None, join(*a.items) if a.items else a.element)
    items = a.items or (a.element,)
    if name == "Add" and any(map(may_be_tensor, items)) and not all(map(may_be_tensor, items)):
        # In ``(tensor, sizes) + unknown``, the positions of the items are no longer known.
        return Seq(a.kind, None, UNKNOWN)
    return Seq(a.kind, None, join(*items))
