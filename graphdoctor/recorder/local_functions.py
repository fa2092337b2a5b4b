"""Pickles what no import finds again: lambdas, functions that other functions define, and what is compiled.

Of such a function the place of its code is written and what it closes over. It is made again from the code that its
module has when it is loaded, which a fix may have changed.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from torch import nn

from graphdoctor.recorder.compiling_context import WatchedContext

_State = tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]


class Pickler(pickle.Pickler):
    """The name under which ``torch.save`` looks for it in its ``pickle_module``."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, WatchedContext):
            # What compiles is no part of what was compiled.
            return _same, (None,)
        original = original_of(obj)
        if original is not obj:
            return _same, (original,)
        if isinstance(obj, FunctionType) and is_local(obj):
            code = obj.__code__
            place = (obj.__module__, _path(obj), _at(obj.__module__, _path(obj)).index(code), len(code.co_freevars))
            return _made, place, _state(obj), None, None, _fill
        return NotImplemented


def is_local(function: FunctionType) -> bool:
    """Whether the function has no name of its own at the top of its module, or in a class there."""
    return "<" in function.__qualname__


def original_of(value: Any) -> Any:
    """What was compiled, where ``value`` is what ``torch.compile`` gave for it."""
    if isinstance(value, nn.Module):
        compiled = type(value).__name__ == "OptimizedModule"
        return getattr(value, "_orig_mod", value) if compiled else value
    return value.__dict__.get("_torchdynamo_orig_callable", value) if isinstance(value, FunctionType) else value


def _path(function: FunctionType) -> tuple[str, ...]:
    return tuple(part for part in function.__qualname__.split(".") if part != "<locals>")


def _state(function: FunctionType) -> _State:
    arguments = {"__defaults__": function.__defaults__, "__kwdefaults__": function.__kwdefaults__}
    return closed_over(function), arguments, dict(vars(function))


def closed_over(function: FunctionType) -> tuple[tuple[Any, ...], ...]:
    """What each of its cells holds."""
    return tuple(_content(cell) for cell in function.__closure__ or ())


def _content(cell: CellType) -> tuple[Any, ...]:
    """What it holds, or nothing where it is not bound yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _same(value: Any) -> Any:
    return value


def _made(module: str, path: tuple[str, ...], number: int, cells: int) -> FunctionType:
    """The function, before it is known what it closes over, since that may contain it."""
    code = _at(module, path)[number]
    if len(code.co_freevars) != cells:
        raise pickle.UnpicklingError(f"{'.'.join(path)} uses other names of the function around it than when saved")
    scope = vars(sys.modules[module])
    function = FunctionType(code, scope, path[-1], None, tuple(CellType() for _ in range(cells)))
    function.__module__ = module
    return function


def _fill(function: FunctionType, state: _State) -> None:
    contents, arguments, attributes = state
    for cell, content in zip(function.__closure__ or (), contents, strict=True):
        if content:
            cell.cell_contents = content[0]
    for name, value in arguments.items():
        setattr(function, name, value)
    vars(function).update(attributes)


def _at(module: str, path: Sequence[str]) -> list[CodeType]:
    """All code of that path: lambdas of one function have the same."""
    found = sys.modules.get(module) or importlib.import_module(module)
    get_code = getattr(getattr(found, "__loader__", None), "get_code", None)
    code = get_code(found.__name__) if get_code is not None else None
    if code is None:
        raise pickle.PicklingError(f"the source of {module} is not known")
    level = [code]
    for name in path:
        level = [inner for outer in level for inner in _inside(outer) if inner.co_name == name]
    if not level:
        raise pickle.PicklingError(f"{'.'.join(path)} is not in the source of {module}")
    return level


def _inside(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))
