"""Decorators that check the arguments of each call against their type hints: beartype, typeguard and jaxtyping's.

What Dynamo makes of them was seen with beartype 0.23, jaxtyping 0.3.11 and typeguard 4.6 on torch 2.13. typeguard puts
calls into the function that Dynamo does not trace. beartype's checks are traced, but for hints of sequences, of which
it draws an item to look at; and the shapes and types of jaxtyping never fit a tensor that is traced, so that the check
fails (https://github.com/pytorch/pytorch/issues/122093).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo
from graphdoctor.static.domain.value_functions import may_be_tensor
from graphdoctor.static.domain.values import External, Function, Value
from graphdoctor.static.interp import definitions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.walk import walk

BEARTYPE = "beartype.beartype"
TYPEGUARD = "typeguard.typechecked"
JAXTYPED = "jaxtyping.jaxtyped"

#: Marks a function of whose sequences beartype draws items.
DRAWS = "beartype-draws"

#: Types of which beartype looks at one item that it draws. Of a dict or set it takes the first.
_DRAWN = frozenset({"builtins.list", "typing.List", "typing.Sequence", "collections.abc.Sequence"})
_TUPLES = frozenset({"builtins.tuple", "typing.Tuple"})
#: Names of jaxtyping that are not hints of an array.
_NO_ARRAYS = frozenset({"PyTree", "Scalar", "ScalarLike"})

#: The name under which the hint of the result is kept.
_RESULT = "return"


def checked(
    interpreter: Interpreter, node: cst.FunctionDef, decorators: Sequence[tuple[cst.BaseExpression, Value]]
) -> frozenset[str]:
    """The markers of a function with these decorators, and the parameters whose hints are jaxtyping's as ``@name``."""
    checkers = {_checker(interpreter, place, value) for place, value in decorators}
    if TYPEGUARD in checkers:
        return frozenset({TYPEGUARD})
    if BEARTYPE not in checkers:
        return frozenset()
    found = set()
    for name, hint in _hints(node):
        for part in walk(hint):
            if type(part) is not cst.Subscript:
                continue
            kind = definitions.peek(interpreter, part.value)
            if _is_of_arrays(kind):
                found.add(f"@{name}")
            elif _is_drawn(kind, part):
                found.add(DRAWS)
    return frozenset(found)


def mark_methods(interpreter: Interpreter, info: ClassInfo, place: cst.BaseExpression, decorator: Value) -> None:
    """Mark the methods of the class ``info``, all of which its ``decorator`` decorates."""
    for method in info.attrs.values():
        if isinstance(method, Function) and method.info.owner is info and isinstance(method.info.node, cst.FunctionDef):
            method.info.markers |= checked(interpreter, method.info.node, [(place, decorator)])


def at_start(interpreter: Interpreter, frame: Frame, info: FunctionInfo) -> None:
    """Emit the check that runs before the body of ``info``, at its first line."""
    of_arrays = [name[1:] for name in info.markers if name.startswith("@")]
    given = [frame.scope.names.get(name) for name in of_arrays]
    name = TYPEGUARD if TYPEGUARD in info.markers else JAXTYPED
    if name == TYPEGUARD or _RESULT in of_arrays or any(value is not None and may_be_tensor(value) for value in given):
        function = Function(info)
        interpreter.emit(Call, info.node, qualname=f"{name}.__call__", args=(), kwargs={}, receiver=function)


def _checker(interpreter: Interpreter, place: cst.BaseExpression, value: Value) -> str:
    """The dotted name of what a decorator checks arguments with; "" where it does not, or is set up otherwise."""
    if isinstance(value, External):
        return value.qualname if value.qualname in (BEARTYPE, TYPEGUARD) else ""
    if type(place) is not cst.Call:
        made = interpreter.library_objects.construction(value)
        given = made.kwargs.get("typechecker") if made is not None and made.qualname == JAXTYPED else None
        return given.qualname if isinstance(given, External) else ""
    called = interpreter.callees.get(id(place))
    if called != JAXTYPED:
        return TYPEGUARD if called == TYPEGUARD else ""
    named = [arg.value for arg in place.args if arg.keyword is not None and arg.keyword.value == "typechecker"]
    given = definitions.peek(interpreter, named[0]) if named else None
    return given.qualname if isinstance(given, External) else ""


def _hints(node: cst.FunctionDef) -> Iterator[tuple[str, cst.BaseExpression]]:
    for param in definitions.parameters(node.params):
        if param.annotation is not None:
            yield param.name.value, param.annotation.annotation
    if node.returns is not None:
        yield _RESULT, node.returns.annotation


def _is_of_arrays(kind: Value) -> bool:
    package, _, name = kind.qualname.rpartition(".") if isinstance(kind, External) else ("", "", "")
    return package == "jaxtyping" and name not in _NO_ARRAYS


def _is_drawn(kind: Value, hint: cst.Subscript) -> bool:
    if not isinstance(kind, External):
        return False
    items = [element.slice.value for element in hint.slice if type(element.slice) is cst.Index]
    of_any_length = bool(items) and type(items[-1]) is cst.Ellipsis
    return kind.qualname in _DRAWN or (kind.qualname in _TUPLES and of_any_length)
