"""Loads a call that ``graphdoctor run --save-sample`` saved: the file with ``graphdoctor_target()`` calls ``load``."""

from __future__ import annotations

import contextlib
import pickle
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from graphdoctor.recorder.definitions import definitions

#: What a program is called, and what it is in the processes that it spawns.
_MAIN = ("__main__", "__mp_main__")
#: What pickle says of a class that it does not find: until Python 3.14, and from 3.15 on.
_LOST = re.compile(r"Can't get attribute '([\w.]+)' on <module |module '[\w.]+' has no attribute '([\w.]+)'")
_SAVE_AGAIN = "put it back, or save the call again with `graphdoctor run --save-sample`"


def load(
    file: Path,
    script: Path | None = None,
    root: Path | None = None,
    name: str = "",
    first: Sequence[Path] = (),
    last: Sequence[Path] = (),
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function, its arguments and keyword arguments. The file is a pickle: load only those that you saved.

    ``script`` is the program where it defines what was compiled: of it, imports, functions, classes and settings of
    torch's (``torch._dynamo.config.allow_rnn = True``) are executed, and nothing else. ``root`` is the folder that its
    imports start from, ``name`` its dotted name if it was run as a module; ``first`` and ``last`` are the folders that
    it added at both ends of ``sys.path``.
    """
    _search([root or (script or file).parent], 0)
    _search(first, 0)
    _search(last, len(sys.path))
    if script is not None and not script.exists():
        raise RuntimeError(f"{script.resolve()} is not there, of which this is a call: {_SAVE_AGAIN}")
    main = definitions(script.resolve(), name) if script is not None else None
    with _as_main(main), _what_is_missing():
        saved = torch.load(file, map_location="cpu", weights_only=False)
        others = dict(_others(saved.get("apart", {}))) if main is not None else {}
    if main is not None:
        vars(main).update(saved["globals"] | others)
    module, qualified = saved["name"]
    function = saved["function"] if saved["function"] is not None else _function(module, qualified, main)
    return function, saved["args"], saved["kwargs"]


def _search(folders: Sequence[Path], at: int) -> None:
    """Python looks for modules in ``folders``, too."""
    new = [str(folder.resolve()) for folder in folders]
    sys.path[at:at] = [folder for folder in new if folder not in sys.path]


def _others(pickled: Mapping[str, bytes]) -> Iterator[tuple[str, Any]]:
    """What can be made again of the other globals, such as a logger."""
    for name, written in pickled.items():
        with contextlib.suppress(Exception):
            yield name, pickle.loads(written)


@contextlib.contextmanager
def _what_is_missing() -> Iterator[None]:
    """A class that the program no longer has is called that; pickle calls it an attribute of a module."""
    try:
        yield
    except AttributeError as error:
        lost = _LOST.match(str(error))
        # The state of an object may ask a module for what it has not, too.
        *_, last = traceback.walk_tb(error.__traceback__)
        if lost is None or last[0].f_code.co_name != "find_class":
            raise
        raise RuntimeError(
            f"`{lost[1] or lost[2]}` is not there any more, of which this call has an object: {_SAVE_AGAIN}"
        ) from error


@contextlib.contextmanager
def _as_main(module: ModuleType | None) -> Iterator[None]:
    """What is pickled of the program itself is found in ``module``."""
    before = {name: sys.modules.get(name) for name in _MAIN}
    if module is not None:
        sys.modules.update(dict.fromkeys(_MAIN, module))
    try:
        yield
    finally:
        for name, old in before.items():
            if old is not None:
                sys.modules[name] = old
            else:
                sys.modules.pop(name, None)


def _function(module: str, name: str, main: ModuleType | None) -> Any:
    found: Any = main if module in _MAIN else __import__(module, fromlist=["*"])
    for part in name.split("."):
        found = getattr(found, part)
    # A decorator may have compiled it.
    return getattr(found, "_torchdynamo_orig_callable", found)
