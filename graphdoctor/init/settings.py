"""The project's settings: ``[tool.graphdoctor]`` in pyproject.toml, or ``[graphdoctor]`` in setup.cfg."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

from graphdoctor.config.project_files import toml_reader
from graphdoctor.init.change import Change, InitError, Kept, Step, appended, read

TOML = """\
[tool.graphdoctor]
ignore = []   # rules that do not matter here; `graphdoctor rules` lists them
exclude = []  # paths that are not scanned, as glob patterns
"""
CFG = """\
[graphdoctor]
# Rules that do not matter here; `graphdoctor rules` lists them.
ignore =
# Paths that are not scanned, as glob patterns.
exclude =
"""


def settings(folder: Path) -> Step:
    """The settings, with nothing set yet, in the file that the project has.

    Where it has none, none is made: packaging and other tools would take the folder for a project of another kind.
    Raises InitError for a file that cannot be read.
    """
    pyproject, setup = read(folder / "pyproject.toml"), read(folder / "setup.cfg")
    if setup is not None and _sections(folder / "setup.cfg", setup).has_section("graphdoctor"):
        return Kept("setup.cfg has [graphdoctor]")
    if pyproject is None and setup is not None:
        return Change(folder, "setup.cfg", setup, appended(setup, CFG))
    if pyproject is None:
        return Kept("no settings: there is no pyproject.toml or setup.cfg, and none is needed to begin with")
    return _toml(folder, pyproject)


def _toml(folder: Path, text: str) -> Step:
    path = "pyproject.toml"
    before = _tables(folder / path, text)
    tools = before.get("tool", {})
    if isinstance(tools, dict) and "graphdoctor" in tools:
        return Kept(f"{path} has [tool.graphdoctor]")
    after = appended(text, TOML)
    tomllib = toml_reader()
    try:
        added = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        # [tool] is an inline table, which no table below can extend.
        return Kept(f"{path} declares [tool] in a way that nothing can be added to", TOML)
    del added["tool"]["graphdoctor"]
    assert added == before or added == {**before, "tool": {}}
    return Change(folder, path, text, after)


def _tables(file: Path, text: str) -> dict[str, Any]:
    tomllib = toml_reader()
    try:
        tables: dict[str, Any] = tomllib.loads(text)
    # A TOMLDecodeError is a ValueError; so is Python's error for a number with too many digits.
    except (ValueError, RecursionError, MemoryError) as error:
        raise InitError(f"{file} is not valid TOML: {error}") from None
    return tables


def _sections(file: Path, text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        reason = " ".join(str(error).split())
        raise InitError(f"{file} cannot be read: {reason}") from None
    return parser
