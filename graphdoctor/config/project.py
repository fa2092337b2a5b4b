"""Settings of a project: ``[tool.graphdoctor]`` in pyproject.toml, ``[graphdoctor]`` in setup.cfg.

docs/configuration.md describes each. Names are written in kebab-case; snake_case is taken too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphdoctor.config import permission, project_files
from graphdoctor.config.project_files import ConfigError, Table
from graphdoctor.config.suggestions import hint
from graphdoctor.source.path_patterns import PathPattern
from graphdoctor.target_torch import specifiers
from graphdoctor.target_torch.tested import OLDEST_TORCH

if TYPE_CHECKING:
    from graphdoctor.config.allow_list import Allowance

__all__ = ["COMMAND_LINE", "MODES", "Config", "ConfigError", "load", "merged"]

MODES = ("eval", "train", "both")

#: The source of settings that are given as options; it is not named in messages.
COMMAND_LINE = ""

#: Packages whose behaviour is known from tables, so their source is not followed.
TABLES = ("torch", "numpy")


@dataclass(frozen=True)
class Config:
    """``timeout`` is in seconds; ``target_torch`` None means the installed version; ``rules`` are folders.

    The files in ``rules`` may be executed; those in ``refused_rules``, which a file of settings names, may not.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[PathPattern, tuple[str, ...]], ...] = ()
    exclude: tuple[PathPattern, ...] = ()
    extend_exclude: tuple[PathPattern, ...] = ()
    target_torch: str | None = None
    follow: tuple[str, ...] = ()
    rules: tuple[Path, ...] = ()
    refused_rules: tuple[Path, ...] = ()
    mode: str = "both"
    timeout: float = 120.0
    #: Findings that may stay for now.
    allow: tuple[Allowance, ...] = ()
    #: Where each setting that is not the default was written, for messages.
    origin: Mapping[str, str] = field(default_factory=dict, compare=False)


def load(folder: Path, values: Sequence[str] = (), isolated: bool = False, allow_project_rules: bool = False) -> Config:
    """The settings of the nearest file at or above ``folder`` that has any, else the defaults. Raises ConfigError.

    ``values`` are the values of ``--config``: at most one file, which is read instead, and ``key=value`` on top.
    ``isolated`` reads no file. ``allow_project_rules``: the rules that a file names may be executed.
    """
    files = [text for text in values if "=" not in text or os.path.isfile(text)]
    if len(files) > 1:
        raise ConfigError(f"--config takes one file, not {len(files)}: {', '.join(files)}")
    if files and isolated:
        raise ConfigError("--isolated reads no configuration file, and --config names one: use one of the two")
    table = project_files.named(Path(files[0])) if files else None if isolated else project_files.nearest(folder)
    config = Config()
    if table is not None:
        trusted = allow_project_rules or permission.is_trusted(table.base)
        config = merged(config, replace(table, trusted=trusted))
    for text in values:
        if text not in files:
            config = merged(config, project_files.inline(text))
    return config


def merged(config: Config, table: Table) -> Config:
    """``config`` with the settings of ``table``: they replace; of EXTENDING ones both are kept. Raises ConfigError."""
    changes: dict[str, Any] = {}
    origin = dict(config.origin)
    for key, value in table.values.items():
        name = key.replace("-", "_").lower()
        if name not in READERS:
            names = [known.replace("_", "-") for known in READERS]
            advice = hint(key, names, f"known are {', '.join(names)}")
            raise table.error(f"unknown graphdoctor setting {key!r}; {advice}")
        read = READERS[name](value, name.replace("_", "-"), table)
        if name == "rules":
            changes["rules"], changes["refused_rules"] = (read, ()) if table.trusted else ((), read)
        else:
            changes[name] = getattr(config, name) + read if name in EXTENDING else read
        origin[name] = f"{table.source}: {key}" if table.source else ""
    return replace(config, **changes, origin=origin)


def _strings(value: object, key: str, table: Table, separators: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(word for word in re.split(separators, value.strip()) if word)
    if isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise table.error(f"{key} must be a list of strings")


def _words(value: object, key: str, table: Table) -> tuple[str, ...]:
    return _strings(value, key, table, r"[,\s]+")


def _paths(value: object, key: str, table: Table) -> tuple[str, ...]:
    """Paths may have spaces, so text is cut at commas and line ends only."""
    return _strings(value, key, table, r"\s*[,\n]\s*")


def _patterns(value: object, key: str, table: Table) -> tuple[PathPattern, ...]:
    return tuple(PathPattern(text, table.base) for text in _paths(value, key, table))


def _folders(value: object, key: str, table: Table) -> tuple[Path, ...]:
    folders = tuple(table.base / text for text in _paths(value, key, table))
    for folder in folders:
        if not os.path.isdir(folder):
            raise table.error(f"{key}: {folder} is no folder")
    return folders


def _per_file(value: object, key: str, table: Table) -> tuple[tuple[PathPattern, tuple[str, ...]], ...]:
    if isinstance(value, Mapping):
        entries = {pattern: _words(codes, key, table) for pattern, codes in value.items()}
    else:
        entries = {}
        for text in (value,) if isinstance(value, str) else _strings(value, key, table, ","):
            _add_per_file(entries, text, key, table)
    return tuple((PathPattern(pattern, table.base), codes) for pattern, codes in entries.items())


def _add_per_file(entries: dict[str, tuple[str, ...]], text: str, key: str, table: Table) -> None:
    """``tests/*: GD101, GD2``, one or several of them."""
    pattern = ""
    for word in re.split(r"[,\s]+", re.sub(r"\s*:\s*", ":", text.strip())):
        before, colon, code = word.rpartition(":")
        pattern = before if colon else pattern
        if not pattern or not code:
            raise table.error(f"{key} must be PATTERN:CODES, such as tests/*:GD101, not {text!r}")
        entries[pattern] = (*entries.get(pattern, ()), code)


def _packages(value: object, key: str, table: Table) -> tuple[str, ...]:
    packages = _words(value, key, table)
    for name in packages:
        if name in TABLES:
            raise table.error(f"{key}: what {name} does is known from tables; it is not followed")
        if not name.isidentifier():
            raise table.error(f"{key}: {name!r} is no package name; give the name that is imported")
    return packages


def _torch(value: object, key: str, table: Table) -> str:
    # A TOML number would make 2.1 of 2.10.
    version = specifiers.parse(value) if isinstance(value, str) else None
    if version is None:
        raise table.error(f'{key} must be a version in quotes, such as "2.8", not {value!r}')
    if not specifiers.allows(f">={OLDEST_TORCH}", str(value)):
        raise table.error(f"{key} must be {OLDEST_TORCH} or newer, not {value}")
    return str(value)


def _mode(value: object, key: str, table: Table) -> str:
    if value not in MODES:
        raise table.error(f"{key} must be one of {', '.join(MODES)}, not {value!r}")
    return str(value)


def _seconds(value: object, key: str, table: Table) -> float:
    try:
        seconds = float(value) if isinstance(value, (str, int, float)) else 0.0
    except (ValueError, OverflowError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise table.error(f"{key} must be a number of seconds above 0, not {value!r:.40}")
    return seconds


def _allow(value: object, _key: str, table: Table) -> tuple[Allowance, ...]:
    from graphdoctor.config.allow_list import allowances

    try:
        return allowances(value, table.base)
    except ValueError as error:
        raise table.error(str(error)) from None


#: How the value of each setting is read.
READERS: Mapping[str, Callable[[object, str, Table], Any]] = {
    "select": _words,
    "ignore": _words,
    "extend_select": _words,
    "extend_ignore": _words,
    "per_file_ignores": _per_file,
    "exclude": _patterns,
    "extend_exclude": _patterns,
    "target_torch": _torch,
    "follow": _packages,
    "rules": _folders,
    "mode": _mode,
    "timeout": _seconds,
    "allow": _allow,
}

#: Settings that are added to those of the layer below instead of taking their place.
EXTENDING = frozenset({"extend_select", "extend_ignore", "extend_exclude", "follow"})
