"""docs/configuration.md and docs/own-rules.md against the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor import plugin
from graphdoctor.cli import cli
from graphdoctor.config.project import EXTENDING, READERS, Config, load, merged
from graphdoctor.config.project_files import Table
from graphdoctor.static.domain import events


@pytest.fixture(scope="module")
def rows(root: Path) -> dict[str, list[str]]:
    """The cells of the table of settings, by name of the field."""
    text = (root / "docs" / "configuration.md").read_text()
    table = text[text.index("| Setting |") :].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    return {row[0].strip("`").replace("-", "_"): row for row in cells}


def test_the_table_has_every_setting_and_its_default(rows: dict[str, list[str]]) -> None:
    assert list(rows) == list(READERS)
    for name, row in rows.items():
        default = getattr(Config(), name)
        if default not in ((), None):
            shown = merged(Config(), Table({name: row[2].strip("`")}, "docs", Path()))
            assert getattr(shown, name) == default
        elif default == ():
            assert row[2] in ("none", "all")


def test_the_options_of_the_table_exist(rows: dict[str, list[str]]) -> None:
    shown = CliRunner().invoke(cli, ["scan", "--help"]).output
    for name, row in rows.items():
        option = re.compile(rf"--{name.replace('_', '-')}(?![\w-])")
        assert bool(option.search(shown)) == bool(option.search(row[3]))
        assert ("adds" in row[3]) == (name in EXTENDING)


@pytest.mark.parametrize(("language", "name"), [("toml", "pyproject.toml"), ("ini", "setup.cfg")])
def test_the_examples_can_be_read(root: Path, tmp_path: Path, language: str, name: str) -> None:
    text = (root / "docs" / "configuration.md").read_text()
    (example,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    (tmp_path / name).write_text(example)
    config = load(tmp_path)
    assert config.extend_ignore == ("GD402",) and len(config.exclude) == 2
    assert [(pattern.text, codes) for pattern, codes in config.per_file_ignores] == [("tests/*", ("GD1",))]


def test_options_and_paths_of_both_pages_exist(root: Path) -> None:
    shown = CliRunner().invoke(cli, ["scan", "--help"]).output
    for page in ("configuration.md", "own-rules.md"):
        text = (root / "docs" / page).read_text()
        options = set(re.findall(r"`(?:[\w ]* )?(--[a-z][a-z-]*)", text))
        assert options and {option for option in options if option not in shown} == set()
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        assert [link for link in links if not (root / "docs" / link).exists()] == []


def test_the_page_on_own_rules_shows_the_fixture_and_events_that_exist(root: Path) -> None:
    page = (root / "docs" / "own-rules.md").read_text()
    rule = (root / "fixtures" / "own_rules" / "tools" / "graphdoctor_rules" / "device_move.py").read_text()
    (shown,) = re.findall(r"def check_call.*?\n```", page, re.DOTALL)
    assert shown.removesuffix("```").strip() in rule
    listed = page[page.index("Those that rules need most") : page.index("## When a rule")]
    kinds = {name for name, kind in vars(events).items() if isinstance(kind, type) and issubclass(kind, events.Event)}
    assert set(re.findall(r"`([A-Z]\w+)`", listed)) <= kinds | set(plugin.__all__)
