"""Settings from pyproject.toml and setup.cfg."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.config import Config, ConfigError, load


def test_defaults_without_any_file(tmp_path: Path) -> None:
    assert load(tmp_path) == Config()


def test_the_nearest_file_with_settings_wins(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "a" / "setup.cfg").write_text("[graphdoctor]\nselect = GD1, GD2\ntimeout = 30\nmode = eval\n")
    (tmp_path / "pyproject.toml").write_text("[tool.graphdoctor]\nignore = ['GD9']\n")
    assert load(inner) == Config(select=("GD1", "GD2"), timeout=30.0, mode="eval")
    assert load(tmp_path) == Config(ignore=("GD9",))


def test_all_keys_of_pyproject(tmp_path: Path) -> None:
    text = (
        "[tool.graphdoctor]\nselect = ['GD1']\nignore = ['GD101']\nexclude = ['old/*']\ntimeout = 5\nmode = 'train'\n"
    )
    (tmp_path / "pyproject.toml").write_text(text)
    assert load(tmp_path) == Config(("GD1",), ("GD101",), ("old/*",), 5.0, "train")


@pytest.mark.parametrize(
    "text, message",
    [
        ("[tool.graphdoctor]\nselct = ['GD1']\n", "unknown graphdoctor setting 'selct'; known are select, ignore"),
        ("[tool.graphdoctor]\nselect = 3\n", "select must be a list of strings"),
        ("[tool.graphdoctor]\ntimeout = -1\n", "timeout must be a number of seconds above 0, not -1"),
        ("[tool.graphdoctor]\ntimeout = 'soon'\n", "timeout must be a number of seconds above 0, not 'soon'"),
        ("[tool.graphdoctor]\nmode = 'fast'\n", "mode must be one of eval, train, both, not 'fast'"),
        ("[tool]\ngraphdoctor = 1\n", r"\[tool.graphdoctor\] must be a table"),
        ("[tool\n", "cannot be read"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=message) as error:
        load(tmp_path)
    assert "\n" not in str(error.value) and "pyproject.toml" in str(error.value)


def test_a_broken_setup_cfg_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text("no section\n")
    with pytest.raises(ConfigError, match=r"setup\.cfg: cannot be read"):
        load(tmp_path)
