"""Saves the first calls of each compiled function: the module, its arguments and the globals that it reads."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

from graphdoctor.recorder import left_out, local_functions, start
from graphdoctor.recorder.trace_file import TraceFile

#: Calls of one process that are saved.
_MOST = 8
#: Bytes of a global of the script that is neither simple nor a tensor or module.
_MOST_OF_ANOTHER = 1 << 20
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size)


class Samples:
    """Writes ``sample_<process>_<number>.pt`` files to ``folder``; none that takes more than ``limit`` bytes."""

    def __init__(self, folder: str, limit: int, trace_file: TraceFile) -> None:
        self._folder = Path(folder)
        self._limit = limit
        self._trace_file = trace_file
        self._numbers = itertools.count()

    def save(self, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Save this call of ``original``, before it may change what it is given. Never raises."""
        number = next(self._numbers)
        if number >= _MOST:
            return
        file = self._folder / f"sample_{os.getpid()}_{number}.pt"
        original = local_functions.original_of(original)
        module = _module(original)
        named = type(module) if module is not None else _named(original)
        name = str(getattr(named, "__qualname__", "")).replace("<locals>.", "")
        note = {"name": name, "module": getattr(named, "__module__", "")}
        note |= {"rank": os.environ.get("RANK", "0"), "main": _main_name(), "folders": _added_folders()}
        try:
            read = _names_read([original, args, kwargs])
            content = {
                "function": module if module is not None else _without_a_name(original),
                "name": (note["module"], note["name"]),
                "args": args,
                "kwargs": kwargs,
                "globals": _globals(read),
                "apart": _pickled_apart(read),
            }
            size = sum(t.numel() * t.element_size() for t in {id(t): t for t in _tensors(content, set())}.values())
            if size > self._limit:
                raise ValueError(f"its tensors take {size >> 20:,} MiB, more than {self._limit >> 20:,} MiB")
            with torch.no_grad():
                try:
                    torch.save(content, file, pickle_module=local_functions)
                except (TypeError, pickle.PicklingError):
                    torch.save(content, file, pickle_module=left_out)
            if (written := file.stat().st_size) > 2 * self._limit:
                # What is no tensor, such as a data set that a trainer holds.
                raise ValueError(f"it takes {written >> 20:,} MiB")
            self._trace_file.note("graphdoctor_sample", {**note, "file": file.name, "training": in_training(original)})
        except Exception as error:
            file.unlink(missing_ok=True)
            reason = str(error).partition("\n")[0]
            self._trace_file.note("graphdoctor_sample", {**note, "problem": reason})


def _named(function: Any) -> Any:
    """What ``function`` is called by: a partial by its function, an object that is called by its class."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if hasattr(function, "__qualname__") else type(function)


def in_training(original: Any) -> bool:
    """Whether the module that is called, or whose method is, is in train mode."""
    owner = getattr(original, "__self__", original)
    return isinstance(owner, nn.Module) and owner.training


def _module(original: Any) -> nn.Module | None:
    """The module whose call ``original`` is, without the wrapper that a job of many ranks needs."""
    owner = original
    if not isinstance(original, nn.Module):
        passes = getattr(original, "__name__", "") in ("_call_impl", "_wrapped_call_impl", "forward", "__call__")
        owner = getattr(original, "__self__", None) if passes else None
    if isinstance(owner, nn.parallel.DistributedDataParallel):
        owner = owner.module
    return owner if isinstance(owner, nn.Module) else None


def _without_a_name(function: Any) -> Any:
    """``function``, unless a module has it under its name, from where it is taken again."""
    named = isinstance(function, FunctionType) and not local_functions.is_local(function)
    return None if named else function


def _main_name() -> str:
    """The dotted name that ``python -m`` was given; empty for a script."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return getattr(spec, "name", "") if spec is not None else ""


def _added_folders() -> dict[str, list[str]]:
    """What the program added to ``sys.path``: before all that Python itself searches, and behind it."""
    found: dict[str, list[str]] = {"first": [], "last": []}
    behind = False
    for entry in sys.path:
        if entry in start.searched:
            behind = True
        elif entry and os.path.isdir(entry):
            found["last" if behind else "first"].append(os.path.abspath(entry))
    return found


def _globals(read: set[str]) -> dict[str, Any]:
    """Of the globals of the script: simple values, and modules and tensors under names that are ``read``."""
    scope = vars(sys.modules["__main__"])
    kept = {name: value for name, value in scope.items() if not name.startswith("__") and _is_simple(value)}
    return kept | {name: scope[name] for name in read if isinstance(scope[name], (nn.Module, torch.Tensor))}


def _pickled_apart(names: set[str]) -> dict[str, bytes]:
    """Other values under these names, such as a logger or a configuration, each for itself: some cannot be pickled."""
    scope = vars(sys.modules["__main__"])
    found = {}
    for name in names:
        if _is_simple(scope[name]) or isinstance(
            scope[name], (nn.Module, torch.Tensor, ModuleType, type, FunctionType)
        ):
            continue
        with contextlib.suppress(Exception):
            written = io.BytesIO()
            local_functions.Pickler(written).dump(scope[name])
            if written.tell() <= _MOST_OF_ANOTHER:
                found[name] = written.getvalue()
    return found


def _is_simple(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) < 1000 and all(map(_is_simple, value))
    if isinstance(value, dict):
        return len(value) < 1000 and all(_is_simple(part) for pair in value.items() for part in pair)
    return type(value) in _SIMPLE


def _names_read(values: Iterable[Any]) -> set[str]:
    """The globals of the script that may be read when what is among ``values`` is called: the names in the code of
    functions, in the classes of modules and other objects, and in what is named there."""
    main = sys.modules["__main__"]
    scope = vars(main)
    pending = [code for each in _with_code(values, set()) for code in _code(each, main.__name__)]
    names: set[str] = set()
    while pending:
        current = pending.pop()
        pending += [constant for constant in current.co_consts if isinstance(constant, CodeType)]
        for name in set(current.co_names) - names:
            names.add(name)
            pending += _code(scope.get(name), main.__name__)
    return names & scope.keys()


def _with_code(values: Iterable[Any], functions: set[int]) -> Iterator[Any]:
    """The functions and classes of ``values``. ``functions`` are those that were looked into."""
    for value in values:
        if isinstance(value, nn.Module):
            yield from {type(each) for each in value.modules()}
        elif isinstance(value, MethodType):
            yield from _with_code([value.__self__, value.__func__], functions)
        elif isinstance(value, FunctionType) and id(value) not in functions:
            functions.add(id(value))
            yield value
            yield from _with_code(local_functions.closed_over(value), functions)
        elif isinstance(value, dict):
            yield from _with_code(value.values(), functions)
        elif isinstance(value, (list, tuple)):
            yield from _with_code(value, functions)
        else:
            yield type(value)


def _code(value: Any, module: str) -> list[CodeType]:
    """That of a function of this module, or of the methods of a class of it, those of its bases in it too."""
    if isinstance(value, FunctionType):
        return [value.__code__] if value.__module__ == module else []
    classes = [cls for cls in value.__mro__ if cls.__module__ == module] if isinstance(value, type) else []
    return [code for cls in classes for method in vars(cls).values() for code in _code(_function(method), module)]


def _function(member: Any) -> Any:
    """The function in what a class holds."""
    return getattr(member, "__func__", None) or getattr(member, "fget", None) or member


def _tensors(value: Any, functions: set[int]) -> Iterator[torch.Tensor]:
    """Those in ``value``. ``functions`` are those that were looked into, since one may close over itself."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
        yield from value.buffers()
    elif isinstance(value, MethodType):
        yield from _tensors(value.__self__, functions)
    elif isinstance(value, FunctionType) and id(value) not in functions:
        functions.add(id(value))
        yield from _tensors(local_functions.closed_over(value), functions)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part, functions)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part, functions)
