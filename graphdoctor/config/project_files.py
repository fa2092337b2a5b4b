"""Where settings are written: pyproject.toml, setup.cfg, a file named by ``--config``, or ``--config key=value``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphdoctor.source.files import is_file, read_bytes

#: An entry of the allow-list in setup.cfg, which has no lists of tables, is a section ``[graphdoctor.allow.NAME]``.
_ALLOW = "graphdoctor.allow."


class ConfigError(Exception):
    """Settings that cannot be used; the text is one line for the user."""


@dataclass(frozen=True)
class Table:
    """Settings as they were written; relative paths start from ``base``.

    ``source`` names the place in messages; it is empty for options of the command line. ``trusted``: code that the
    settings name may be executed.
    """

    values: Mapping[str, Any]
    source: str
    base: Path
    trusted: bool = False

    def error(self, text: str) -> ConfigError:
        """``text`` begins with the name of the setting."""
        return ConfigError(f"{self.source}: {text}" if self.source else f"--{text}")


def nearest(folder: Path) -> Table | None:
    """The settings of the nearest file at or above ``folder`` that has any. Raises ConfigError."""
    # Links are kept, as in the paths that patterns are compared with.
    folder = Path(os.path.abspath(folder))
    for place in (folder, *folder.parents):
        for name in ("pyproject.toml", "setup.cfg"):
            file = place / name
            if is_file(file) and (found := _read(file)) is not None:
                return found
    return None


def named(file: Path) -> Table:
    """The settings of a file that the user names. Raises ConfigError."""
    if not os.path.exists(file):
        raise ConfigError(f"{file}: no such configuration file; --config takes a file or 'key=value'")
    found = _read(file)
    if found is None:
        section = "[tool.graphdoctor]" if _is_toml(file) else "[graphdoctor]"
        raise ConfigError(f"{file}: has no section {section}")
    return found


def inline(text: str) -> Table:
    """``key=value``, the value as in TOML or as plain text. Raises ConfigError."""
    key, _, value = (part.strip() for part in text.partition("="))
    tomllib = toml_reader()
    try:
        values = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError, MemoryError):
        values = {"value": value}
    return Table({key: values["value"]}, f"--config {text!r}", Path.cwd(), trusted=True)


def _read(file: Path) -> Table | None:
    values = _toml(file) if _is_toml(file) else _cfg(file)
    return None if values is None else Table(values, str(file), Path(os.path.abspath(file)).parent)


def _is_toml(file: Path) -> bool:
    return file.suffix == ".toml"


def toml_reader() -> Any:
    """The module ``tomllib``, in the standard library since Python 3.11, or tomli, which is the same for older ones."""
    return importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def _toml(file: Path) -> Mapping[str, Any] | None:
    text = _text(file)
    try:
        tool = toml_reader().loads(text).get("tool", {})
    # A TOMLDecodeError is a ValueError; so is Python's error for a number with too many digits.
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{file}: cannot be read: {_first_line(error)}") from None
    table = tool.get("graphdoctor") if isinstance(tool, Mapping) else None
    if table is not None and not isinstance(table, Mapping):
        raise ConfigError(f"{file}: [tool.graphdoctor] must be a table")
    return table


def _cfg(file: Path) -> Mapping[str, Any] | None:
    import configparser

    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    try:
        parser.read_string(_text(file), str(file))
    except configparser.Error as error:
        raise ConfigError(f"{file}: cannot be read: {_first_line(error)}") from None
    allow = [dict(parser[name]) for name in parser.sections() if name.startswith(_ALLOW)]
    if "graphdoctor" not in parser and not allow:
        return None
    values = dict(parser["graphdoctor"]) if "graphdoctor" in parser else {}
    return {**values, "allow": allow} if allow else values


def _text(file: Path) -> str:
    """What ``file`` holds. Raises ConfigError."""
    try:
        return read_bytes(file).decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{file}: cannot be read: {reason}") from None


def _first_line(error: Exception | MemoryError) -> str:
    if isinstance(error, (RecursionError, MemoryError)):
        return "it is too deeply nested"
    return str(error).partition("\n")[0]
