"""Settings of a project: ``[tool.graphdoctor]`` in pyproject.toml, ``[graphdoctor]`` in setup.cfg."""

from __future__ import annotations

import configparser
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

#: In the standard library since Python 3.11; tomli is the same module for older ones.
tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

MODES = ("eval", "train", "both")


class ConfigError(Exception):
    """Settings that cannot be used; the text is one line for the user."""


@dataclass(frozen=True)
class Config:
    """``timeout`` is in seconds. ``exclude`` holds glob patterns of paths that are not scanned."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    timeout: float = 120.0
    mode: str = "both"


def load(folder: Path) -> Config:
    """The settings of the nearest file at or above ``folder`` that has any, else the defaults. Raises ConfigError."""
    for place in (folder, *folder.parents):
        for name, reader in (("pyproject.toml", _pyproject), ("setup.cfg", _setup_cfg)):
            file = place / name
            if file.is_file():
                table = reader(file)
                if table is not None:
                    return _config(table, str(file))
    return Config()


def _pyproject(file: Path) -> Mapping[str, Any] | None:
    try:
        with file.open("rb") as stream:
            tool = tomllib.load(stream).get("tool", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {_first_line(error)}") from None
    table = tool.get("graphdoctor")
    if table is not None and not isinstance(table, Mapping):
        raise ConfigError(f"{file}: [tool.graphdoctor] must be a table")
    return table


def _setup_cfg(file: Path) -> Mapping[str, Any] | None:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(file, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {_first_line(error)}") from None
    return dict(parser["graphdoctor"]) if "graphdoctor" in parser else None


def _config(table: Mapping[str, Any], source: str) -> Config:
    known = Config.__dataclass_fields__
    for key in table:
        if key not in known:
            raise ConfigError(f"{source}: unknown graphdoctor setting {key!r}; known are {', '.join(known)}")
    lists = (key for key in ("select", "ignore", "exclude") if key in table)
    values: dict[str, Any] = {key: _words(table[key], key, source) for key in lists}
    config = replace(Config(), **values)
    if "timeout" in table:
        config = replace(config, timeout=_seconds(table["timeout"], source))
    if "mode" in table:
        if table["mode"] not in MODES:
            raise ConfigError(f"{source}: mode must be one of {', '.join(MODES)}, not {table['mode']!r}")
        config = replace(config, mode=table["mode"])
    return config


def _words(value: object, key: str, source: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise ConfigError(f"{source}: {key} must be a list of strings")


def _seconds(value: object, source: str) -> float:
    try:
        seconds = float(value) if isinstance(value, (str, int, float)) else 0.0
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ConfigError(f"{source}: timeout must be a number of seconds above 0, not {value!r}")
    return seconds


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
