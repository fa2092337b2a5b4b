"""The hook is put into the list of repositories; the file is otherwise kept byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from graphdoctor.init.change import Change, Kept
from graphdoctor.init.hook import PATH, hook
from graphdoctor.init.origin import Origin

ORIGIN = Origin("https://github.com/acme/graphdoctor", "1.10")
ENTRY = {"repo": ORIGIN.url, "rev": "1.10", "hooks": [{"id": "graphdoctor"}]}

INDENTED = """\
# Ours.
minimum_pre_commit_version: '3.0'
repos:
  # Formatting first.
  - repo: https://github.com/astral-sh/ruff-pre-commit
    rev: v0.17.5   # keep in step with constraints.txt

    hooks:
      - id: ruff-check
        args: [--fix]

ci:
  autofix_prs: false
"""
FLAT = (
    "repos:\n- repo: local\n  hooks:\n  - id: x\n    name: x\n    entry: |\n      a\n\n      # b\n    language: system"
)


def inserted(folder: Path, text: str, origin: Origin | None = ORIGIN) -> tuple[str, dict[str, Any]]:
    (folder / PATH).write_bytes(text.encode())
    step = hook(folder, origin)
    assert isinstance(step, Change)
    loaded: dict[str, Any] = yaml.safe_load(step.after)
    return step.after, loaded


@pytest.mark.parametrize("text", [INDENTED, FLAT, INDENTED.replace("\n", "\r\n"), FLAT + "\n# end\n"])
def test_only_the_entry_is_added(tmp_path: Path, text: str) -> None:
    after, loaded = inserted(tmp_path, text)
    before = yaml.safe_load(text)
    assert loaded == {**before, "repos": [*before["repos"], ENTRY]}
    lines = after.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if ORIGIN.url in line)
    newline = "\r\n" if "\r\n" in text else "\n"
    assert "".join(lines[:first] + lines[first + 4 :]) == text.removesuffix(newline) + newline


def test_a_new_file_and_one_without_a_known_repository(tmp_path: Path) -> None:
    step = hook(tmp_path, ORIGIN)
    assert isinstance(step, Change) and yaml.safe_load(step.after) == {"repos": [ENTRY]}
    step = hook(tmp_path, None)
    assert isinstance(step, Change)
    [entry] = yaml.safe_load(step.after)["repos"]
    assert entry["repo"] == "local" and entry["hooks"][0]["language"] == "system"


@pytest.mark.parametrize("line", ["      - id: graphdoctor\n", "      - {id: 'graphdoctor-fix'}\n"])
def test_a_hook_that_is_there_stays(tmp_path: Path, line: str) -> None:
    (tmp_path / PATH).write_text("repos:\n  - repo: x\n    hooks:\n" + line)
    assert hook(tmp_path, ORIGIN) == Kept(f"{PATH} has the hook")


@pytest.mark.parametrize("text", ["repos: []\n", "repos: [{repo: meta}]\n", "ci: {}\n", "repos:\n"])
def test_what_is_not_understood_is_left_to_the_user(tmp_path: Path, text: str) -> None:
    (tmp_path / PATH).write_text(text)
    step = hook(tmp_path, ORIGIN)
    assert isinstance(step, Kept) and yaml.safe_load(step.paste) == [ENTRY]
