"""Settings from pyproject.toml, setup.cfg and --config."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.config.project import Config, ConfigError, load, merged
from graphdoctor.config.project_files import Table
from graphdoctor.source.path_patterns import PathPattern


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


TOML = """\
[tool.graphdoctor]
select = ["GD1"]
ignore = ["GD101"]
extend-select = ["GD2"]
extend_ignore = ["GD3"]
exclude = ["old/*", "my folder"]
extend-exclude = ["gen"]
follow = ["acme"]
rules = ["lint"]
target-torch = "2.10"
timeout = 5
mode = "train"

[tool.graphdoctor.per-file-ignores]
"tests/*" = ["GD1", "GD201"]
"x.py" = "GD2"
"""
CFG = """\
[graphdoctor]
select = GD1
ignore = GD101
extend_select = GD2
extend-ignore = GD3
exclude = old/*, my folder
extend-exclude =
    gen
follow = acme
rules = lint
target-torch = 2.10
timeout = 5
mode = train
per-file-ignores =
    tests/*: GD1, GD201
    x.py: GD2
"""


@pytest.mark.parametrize(("name", "text"), [("pyproject.toml", TOML), ("setup.cfg", CFG)])
def test_both_files_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "lint").mkdir()
    (tmp_path / name).write_text(text)
    config = load(tmp_path)
    assert config == Config(
        select=("GD1",),
        ignore=("GD101",),
        extend_select=("GD2",),
        extend_ignore=("GD3",),
        per_file_ignores=(
            (PathPattern("tests/*", tmp_path), ("GD1", "GD201")),
            (PathPattern("x.py", tmp_path), ("GD2",)),
        ),
        exclude=(PathPattern("old/*", tmp_path), PathPattern("my folder", tmp_path)),
        extend_exclude=(PathPattern("gen", tmp_path),),
        target_torch="2.10",
        follow=("acme",),
        refused_rules=(tmp_path / "lint",),
        mode="train",
        timeout=5.0,
    )
    assert config.origin["extend_ignore"].startswith(str(tmp_path / name))


@pytest.mark.parametrize(
    "text, entries",
    [
        ("a.py:GD1", {"a.py": ("GD1",)}),
        ("a.py:GD1,GD2 b/*: GD3", {"a.py": ("GD1", "GD2"), "b/*": ("GD3",)}),
        ("a.py:GD1,b.py:GD2", {"a.py": ("GD1",), "b.py": ("GD2",)}),
        ("a.py: print-in-graph, GD2", {"a.py": ("print-in-graph", "GD2")}),
    ],
)
def test_per_file_ignores_as_text(tmp_path: Path, text: str, entries: dict[str, tuple[str, ...]]) -> None:
    config = merged(Config(), Table({"per-file-ignores": text}, "here", tmp_path))
    assert {pattern.text: codes for pattern, codes in config.per_file_ignores} == entries


@pytest.mark.parametrize(
    "text, message",
    [
        ("selct = ['GD1']", "unknown graphdoctor setting 'selct'; did you mean 'select'?"),
        ("qqq = 1", "unknown graphdoctor setting 'qqq'; known are select, ignore, extend-select"),
        ("select = 3", "select must be a list of strings"),
        ("timeout = -1", "timeout must be a number of seconds above 0, not -1"),
        ("timeout = 'soon'", "timeout must be a number of seconds above 0, not 'soon'"),
        ("timeout = inf", "timeout must be a number of seconds above 0, not inf"),
        ("mode = 'fast'", "mode must be one of eval, train, both, not 'fast'"),
        ("target-torch = 2.10", 'target-torch must be a version in quotes, such as "2.8", not 2.1'),
        ("target-torch = 'new'", "target-torch must be a version in quotes, such as \"2.8\", not 'new'"),
        ("target-torch = '1.13'", "target-torch must be 2.6 or newer, not 1.13"),
        ("follow = ['torch']", "follow: what torch does is known from tables"),
        ("follow = ['my-lib']", "follow: 'my-lib' is no package name"),
        ("rules = ['nowhere']", "nowhere is no folder"),
        ("per-file-ignores = ['a.py']", "per-file-ignores must be PATTERN:CODES, such as tests/*:GD101, not 'a.py'"),
        ("per-file-ignores = 3", "per-file-ignores must be a list of strings"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.graphdoctor]\n{text}\n")
    with pytest.raises(ConfigError) as error:
        load(tmp_path)
    assert message in str(error.value)
    assert "\n" not in str(error.value) and "pyproject.toml" in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("[tool]\ngraphdoctor = 1\n", "[tool.graphdoctor] must be a table"), ("[tool\n", "cannot be read")],
)
def test_files_that_are_wrong_as_a_whole(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load(tmp_path)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_broken_setup_cfg_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text("no section\n")
    with pytest.raises(ConfigError, match=r"setup\.cfg: cannot be read"):
        load(tmp_path)


def test_a_named_file_replaces_the_projects_and_key_values_come_on_top(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphdoctor]\nselect = ['GD1']\nmode = 'eval'\n")
    other = tmp_path / "other.toml"
    other.write_text("[tool.graphdoctor]\nselect = ['GD2']\n")
    assert load(tmp_path, [str(other)]) == Config(select=("GD2",))
    assert load(tmp_path, ["select=['GD3']", "timeout = 7"]) == Config(select=("GD3",), mode="eval", timeout=7.0)
    assert load(tmp_path, ["select=GD3,GD4"]).select == ("GD3", "GD4")
    assert load(tmp_path, ["mode=train"], isolated=True) == Config(mode="train")
    assert load(tmp_path, isolated=True) == Config()


def test_what_extends_is_added(tmp_path: Path) -> None:
    project = Config(select=("GD1",), extend_select=("GD2",), follow=("acme",))
    config = merged(project, Table({"select": ("GD3",), "extend-select": ("GD4",), "follow": ("b",)}, "", tmp_path))
    assert (config.select, config.extend_select, config.follow) == (("GD3",), ("GD2", "GD4"), ("acme", "b"))


@pytest.mark.parametrize(
    ("given", "isolated", "message"),
    [
        (["nowhere.toml"], False, "nowhere.toml: no such configuration file"),
        (["a.toml"], False, r"a.toml: has no section \[tool.graphdoctor\]"),
        (["a.toml", "b.toml"], False, "--config takes one file, not 2"),
        (["a.toml"], True, "--isolated reads no configuration file"),
        (["selct=GD1"], False, r"--config 'selct=GD1': unknown graphdoctor setting 'selct'; did you mean 'select'\?"),
    ],
)
def test_wrong_config_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], isolated: bool, message: str
) -> None:
    (tmp_path / "a.toml").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, given, isolated)
