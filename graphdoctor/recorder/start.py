"""Starts the recorder as soon as the process has imported torch."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib.abc
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from graphdoctor.recorder.settings import MISSING, Settings, load

#: Where Python looked for modules before the program began: what is there later, the program added.
searched: list[str] = []


def start() -> None:
    """Wait for torch, if the environment asks for a recording."""
    settings = load(os.environ)
    if settings is not None and "torch" not in sys.modules:
        searched[:] = sys.path
        sys.meta_path.insert(0, _AfterTorch(settings))
        atexit.register(_note_missing, settings.folder)


def _note_missing(folder: str) -> None:
    """Note the import that ended the program, and where Python looked for modules by then."""
    error = getattr(sys, "last_value", None)
    with contextlib.suppress(Exception):
        # A relative import has no name: what is missing is the package of the program.
        is_relative = "no known parent package" in str(error)
        if isinstance(error, ImportError) and (is_relative or (isinstance(error, ModuleNotFoundError) and error.name)):
            said = {"name": "" if is_relative else error.name, "file": _program(error), "path": sys.path}
            Path(folder, MISSING.format(os.getpid())).write_text(json.dumps(said), encoding="utf-8")


def _program(error: BaseException) -> str:
    """The file of the program, which Python has forgotten when it ends: where the code that raised ``error`` began."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return next((each.f_code.co_filename for each in frames if each.f_globals.get("__name__") == "__main__"), "")


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Finds torch as the other finders do, and calls ``_install`` once it is imported."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of torch, whose loader tells when it is done; None for all else."""
        if name != "torch":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        # Many programs only ask whether torch is there, so the finder stays until torch is really imported.
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader)
        return spec

    def _watch(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            with _collector_paused():
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    _install(self._settings)

        loader.exec_module = exec_module


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Without the garbage collector: torch is many objects that stay, and looking at them again and again takes a sixth
    of the time of its import, more than recording adds to it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _install(settings: Settings) -> None:
    """The program goes on whatever happens here; the report says that nothing was recorded."""
    try:
        from graphdoctor.recorder.install import install

        install(settings)
    except Exception:
        failure = Path(settings.folder, f"not_recorded_{os.getpid()}.txt")
        failure.write_text(traceback.format_exc(), encoding="utf-8")
