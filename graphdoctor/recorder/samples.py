"""Saves the first call of each compiled function: the module, its arguments and the globals that it reads."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn

from graphdoctor.recorder import start
from graphdoctor.recorder.trace_file import TraceFile

#: Calls of one process that are saved.
_MOST = 8
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
        module = _module(original)
        named = type(module) if module is not None else original
        note = {"name": getattr(named, "__qualname__", ""), "module": getattr(named, "__module__", "")}
        note |= {"rank": os.environ.get("RANK", "0"), "main": _main_name(), "folders": _added_folders()}
        try:
            content = {
                "function": module,
                "name": (note["module"], note["name"]),
                "args": args,
                "kwargs": kwargs,
                "globals": _globals(named),
            }
            size = sum(t.numel() * t.element_size() for t in {id(t): t for t in _tensors(content)}.values())
            if size > self._limit:
                raise ValueError(f"its tensors take {size >> 20:,} MiB, more than {self._limit >> 20:,} MiB")
            with torch.no_grad():
                torch.save(content, file)
            self._trace_file.note(
                "graphdoctor_sample", {**note, "file": file.name, "training": bool(module and module.training)}
            )
        except Exception as error:
            file.unlink(missing_ok=True)
            reason = str(error).partition("\n")[0]
            self._trace_file.note("graphdoctor_sample", {**note, "problem": reason})


def _module(original: Any) -> nn.Module | None:
    """The module whose call ``original`` is, without the wrapper that a job of many ranks needs."""
    owner = original
    if not isinstance(original, nn.Module):
        passes = getattr(original, "__name__", "") in ("_call_impl", "_wrapped_call_impl", "forward", "__call__")
        owner = getattr(original, "__self__", None) if passes else None
    if isinstance(owner, nn.parallel.DistributedDataParallel):
        owner = owner.module
    return owner if isinstance(owner, nn.Module) else None


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


def _globals(named: Any) -> dict[str, Any]:
    """What the code of the script reads from its globals: simple values, and all that ``named`` itself reads."""
    main = sys.modules["__main__"]
    scope = vars(main)
    found = {name: value for name, value in scope.items() if not name.startswith("__") and _is_simple(value)}
    if getattr(named, "__module__", "") == main.__name__ and isinstance(named, FunctionType):
        for name in _names_read(named.__code__, scope):
            value = scope.get(name)
            if isinstance(value, (nn.Module, torch.Tensor)):
                found[name] = value
    return found


def _is_simple(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) < 1000 and all(map(_is_simple, value))
    if isinstance(value, dict):
        return len(value) < 1000 and all(_is_simple(part) for pair in value.items() for part in pair)
    return type(value) in _SIMPLE


def _names_read(code: CodeType, scope: dict[str, Any]) -> set[str]:
    """The global names in ``code`` and in the functions of the script that it names."""
    names: set[str] = set()
    pending = [code]
    while pending:
        current = pending.pop()
        pending += [constant for constant in current.co_consts if isinstance(constant, CodeType)]
        for name in set(current.co_names) - names:
            names.add(name)
            function = scope.get(name)
            if isinstance(function, FunctionType) and function.__module__ == scope["__name__"]:
                pending.append(function.__code__)
    return names


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
        yield from value.buffers()
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
