"""Where the settings go, and that nothing else of the file changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.config.project import Config, load
from graphdoctor.init.change import Change, InitError, Kept
from graphdoctor.init.settings import TOML, settings

PROJECT = '[project]\nname = "x"  # odd   spacing\n\n[tool.ruff]\nline-length=100'


def test_no_file_is_made_for_them(tmp_path: Path) -> None:
    step = settings(tmp_path)
    assert isinstance(step, Kept) and step.reason.startswith("no settings: ")
    (tmp_path / "pyproject.toml").touch()
    assert settings(tmp_path) == Change(tmp_path, "pyproject.toml", "", TOML)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_table_is_appended_and_the_rest_kept(tmp_path: Path, newline: str) -> None:
    text = PROJECT.replace("\n", newline)
    (tmp_path / "pyproject.toml").write_bytes(text.encode())
    step = settings(tmp_path)
    assert isinstance(step, Change)
    assert step.after == text + newline * 2 + TOML.replace("\n", newline)


def test_setup_cfg_where_there_is_no_pyproject(tmp_path: Path) -> None:
    file = tmp_path / "setup.cfg"
    file.write_text("[metadata]\nname = x\n")
    step = settings(tmp_path)
    assert isinstance(step, Change) and step.path == "setup.cfg"
    assert step.after.startswith("[metadata]\nname = x\n\n[graphdoctor]\n")
    file.write_text(step.after)
    assert load(tmp_path) == Config()
    assert settings(tmp_path) == Kept("setup.cfg has [graphdoctor]")


@pytest.mark.parametrize("text", ["[tool.graphdoctor]\n", "[tool]\ngraphdoctor = {mode = 'eval'}\n"])
def test_settings_that_are_there_stay(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert settings(tmp_path) == Kept("pyproject.toml has [tool.graphdoctor]")


def test_an_inline_table_cannot_be_extended(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool = {ruff = {}}\n")
    step = settings(tmp_path)
    assert isinstance(step, Kept) and step.paste == TOML


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("pyproject.toml", b"[tool\n", "is not valid TOML"),
        ("pyproject.toml", b"\xff", "it is not UTF-8"),
        ("setup.cfg", b"no section\n", "cannot be read"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InitError, match=message) as error:
        settings(tmp_path)
    assert "\n" not in str(error.value) and name in str(error.value)
