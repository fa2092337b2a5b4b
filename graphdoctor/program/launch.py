"""The command line of the user's program -> the process to start. What cannot run is refused before it is started."""

from __future__ import annotations

import importlib.machinery
import os
import shutil
import sys
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdoctor.source.files import read_bytes


class CannotRun(Exception):
    """There is no such program; the text is one line for the user."""


@dataclass(frozen=True)
class Launch:
    """``arguments`` start the process; ``name`` is what reports call the program."""

    arguments: tuple[str, ...]
    name: str


def launch(program: Sequence[str], is_module: bool) -> Launch:
    """How to run ``program``: a script or, with ``is_module``, a module, and its arguments. Raises CannotRun.

    A name that is no file may be a command on PATH, such as torchrun.
    """
    name, *arguments = program
    if is_module:
        _check_module(name)
        return Launch((sys.executable, "-m", name, *arguments), name)
    if os.path.exists(name):
        _check_script(name)
        return Launch((sys.executable, name, *arguments), name)
    command = shutil.which(name)
    if command is None or name.endswith(".py"):
        raise CannotRun(f"{name}: no such file; give the script that you would give to python, or -m MODULE")
    return Launch((command, *arguments), name)


def _check_script(name: str) -> None:
    if os.path.isdir(name):
        if not os.path.isfile(os.path.join(name, "__main__.py")):
            raise CannotRun(f"{name} is a folder without a __main__.py; give the script in it that starts the program")
        return
    if zipfile.is_zipfile(name):
        return
    if name.endswith(".ipynb"):
        # Its JSON may be Python by chance.
        raise CannotRun(
            f"{name} is a notebook: use `graphdoctor scan {name}`, or the magics of `%load_ext graphdoctor` in its "
            "kernel"
        )
    try:
        text = read_bytes(Path(name))
    except OSError as error:
        raise CannotRun(f"{name} cannot be read: {error.strerror}") from None
    try:
        with warnings.catch_warnings():
            # Python shows them when it runs the script.
            warnings.simplefilter("ignore")
            compile(text, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise CannotRun(f"{name}{line} is no Python program: {reason}") from None


def _check_module(name: str) -> None:
    """What ``python -m`` would not find. Only the outermost package is looked for: nothing is imported."""
    top = name.partition(".")[0]
    if top in sys.builtin_module_names or not top:
        raise CannotRun(f"-m {name}: no module that can be run")
    folders = ["", *sys.path]
    if importlib.machinery.PathFinder.find_spec(top, folders) is None and top not in sys.stdlib_module_names:
        raise CannotRun(f"-m {name}: no module named {top} here or where Python looks for modules")
