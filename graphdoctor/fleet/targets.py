"""Which targets a fleet has: those of a TOML list, of a folder of samples, or of a function of the project."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphdoctor.config.project_files import toml_reader
from graphdoctor.dynamic.named.listing import is_pattern, matching
from graphdoctor.dynamic.named.targets import NoSuchTarget
from graphdoctor.dynamic.parent.sample import declares_sample, is_broken_sample
from graphdoctor.model.fleet import Target
from graphdoctor.source.discover import discover
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import text_of

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
#: A file without it defines no model.
_FORWARD = re.compile(r"^\s+def forward\(", re.MULTILINE)
#: Calls the function in a process of its own; what it prints goes to stderr.
_CALL = """
import importlib, json, os, sys
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.path.insert(0, os.getcwd())
module, name = sys.argv[1].split(":")
json.dump(list(getattr(importlib.import_module(module), name)()), out)
out.close()
"""


class NoTargets(Exception):
    """There is nothing to scan, or the list cannot be read; the text is one line."""


def targets(source: str) -> tuple[Target, ...]:
    """The targets of ``source``: a TOML file, a folder, names such as ``hf:Bert*``, or ``package.module:function``.

    Raises NoTargets.
    """
    path = Path(source)
    if path.is_dir():
        found = _of_folder(path)
    elif path.is_file():
        found = _of_list(_read(path), path.resolve().parent)
    elif is_pattern(source):
        found = _of_list([source], Path.cwd())
    elif _FUNCTION.fullmatch(source):
        found = _of_list(_called(source), Path.cwd())
    else:
        raise NoTargets(
            f"{source}: no such file or folder; give a TOML list, a folder of samples, hf:* or timm:* with any "
            "pattern, or module:function"
        )
    if not found:
        of_folder = ": none of its files declares a sample input (docs/samples.md)" if path.is_dir() else ""
        raise NoTargets(f"{source}: there is no target in it{of_folder}")
    names = [target.name for target in found]
    if double := next((name for name in names if names.count(name) > 1), None):
        raise NoTargets(f"{source}: two targets are called {double!r}: give each a name of its own")
    return found


def left_out(source: str) -> tuple[str, ...]:
    """The files of the folder ``source`` that define a model and declare no sample input; nothing of other sources."""
    texts = _texts(Path(source)) if Path(source).is_dir() else ()
    return tuple(shown for _, shown, text in texts if _FORWARD.search(text) and not _offers(text))


def _of_folder(folder: Path) -> tuple[Target, ...]:
    """The files that declare a sample input, or would if they had no syntax error; nothing is executed."""
    return tuple(Target(shown, (str(path),), Path.cwd()) for path, shown, text in _texts(folder) if _offers(text))


def _offers(text: str) -> bool:
    return bool(declares_sample(text)) or is_broken_sample(text)


def _texts(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """The Python files of a folder that can be read: path, path to show, text."""
    for path, shown in discover([str(folder)], []).files:
        with suppress(SourceError):
            yield path, shown, text_of(path)


def _read(path: Path) -> Any:
    if path.suffix == ".py":
        raise NoTargets(f"{path}: one file is scanned with `graphdoctor scan {path}`; give a TOML list, or its folder")
    tomllib = toml_reader()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise NoTargets(f"{path}: {error}") from None
    if table.keys() != {"targets"}:
        raise NoTargets(f"{path}: a list of targets has the one key `targets`")
    return table["targets"]


def _called(name: str) -> Any:
    done = subprocess.run([sys.executable, "-c", _CALL, name], capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise NoTargets(f"{name}: {last or f'ended with code {done.returncode}'}")
    return json.loads(done.stdout)


def _of_list(entries: Any, folder: Path) -> tuple[Target, ...]:
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise NoTargets("`targets` must be a list")
    return tuple(target for entry in entries for target in _expanded(_target(entry, folder)))


def _expanded(target: Target) -> Iterator[Target]:
    """The targets that a name with a wildcard stands for, each called by its own name. Raises NoTargets."""
    pattern, *options = target.arguments
    if not is_pattern(pattern):
        yield target
        return
    try:
        names = matching(pattern)
    except NoSuchTarget as error:
        raise NoTargets(str(error)) from None
    for name in names:
        yield Target(target.name.replace(pattern, name, 1), (name, *options), target.folder)


def _target(entry: Any, folder: Path) -> Target:
    """``"model.py --target Net"``, or the same with a name: ``{name = "net", scan = "model.py --target Net"}``."""
    if isinstance(entry, str):
        entry = {"scan": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("scan"), str) or entry.keys() - {"name", "scan"}:
        raise NoTargets(f'a target is "FILE OPTIONS" or {{name = ..., scan = "FILE OPTIONS"}}, not {entry!r}')
    try:
        arguments = shlex.split(entry["scan"])
    except ValueError as error:
        raise NoTargets(f"{entry['scan']!r}: {error}") from None
    if not arguments:
        raise NoTargets("a target is empty")
    return Target(str(entry.get("name", entry["scan"])), tuple(arguments), folder)
