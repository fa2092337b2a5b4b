"""The documentation names only what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli

DOCS = tuple(f"docs/{file.name}" for file in sorted(Path(__file__).parents[1].glob("docs/*.md")))
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *DOCS,
    ".pre-commit-hooks.yaml",
    "action.yml",
    "templates/gitlab-ci.yml",
    "Makefile",
)


@pytest.mark.parametrize("page", PAGES)
def test_options_exist(root: Path, page: str) -> None:
    shown = CliRunner().invoke(cli, ["scan", "--help"]).output
    commands = re.findall(r"graphdoctor scan ([^`\n]*)", (root / page).read_text())
    options = {option for command in commands for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", command)}
    assert {option for option in options if option not in shown} == set()


def test_the_readme_shows_what_a_user_needs_first(root: Path) -> None:
    text = (root / "README.md").read_text()
    assert all(
        option in text for option in ("--html", "--diff", "graphdoctor fix", "model.py:Net --input", "--output-format")
    )


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *DOCS])
def test_links_and_paths_lead_somewhere(root: Path, page: str) -> None:
    text = (root / page).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    paths = re.findall(r"\b(?:fixtures|benchmarks|docs|rules|tests|graphdoctor)/[\w./]*\w\.(?:py|md|png|json)", text)
    missing = [link for link in links if not (root / page).parent.joinpath(link).exists()]
    missing += [path for path in paths if not (root / path).exists()]
    assert missing == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/design.md"])
def test_modules_that_are_named_exist(root: Path, page: str) -> None:
    folders = ("graphdoctor", "rules", "tests", "tools", "benchmarks", "fixtures")
    files = [f"/{file.relative_to(root).as_posix()}" for name in folders for file in (root / name).rglob("*.*")]
    named = re.findall(r"`([\w./]+\.(?:py|json))`", (root / page).read_text())
    assert named
    assert [name for name in named if not any(file.endswith(f"/{name}") for file in files)] == []
