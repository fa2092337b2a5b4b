"""docs/guidance.md is what tools/guidance.toml and the rules say."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from graphdoctor.cli import COMMANDS
from graphdoctor.lint.catalog import rules


@pytest.fixture(scope="module")
def guidance(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("guidance", root / "tools" / "guidance.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up.
    sys.modules["guidance"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(guidance: ModuleType, root: Path) -> None:
    """Made anew with ``python -m tools.guidance > docs/guidance.md``."""
    assert guidance.page(guidance.read()) == (root / "docs" / "guidance.md").read_text(encoding="utf-8")


def test_every_piece_of_advice_has_one_complete_row(guidance: ModuleType) -> None:
    found = guidance.advice(guidance.read()["rows"])
    assert [each.number for each in found] == list(range(1, 102))
    assert [each.number for each in found if not each.text or not each.result] == []
    assert [each.number for each in found if (each.answer == "neither") is not bool(each.reason)] == []


def test_rows_name_rules_and_commands_that_exist(guidance: ModuleType) -> None:
    codes = {rule.code for rule in rules()}
    families = {f"{code[:3]}xx" for code in codes}
    found = guidance.advice(guidance.read()["rows"])
    assert {code for each in found for code in each.rules} <= codes | families
    assert {command for each in found for command in each.commands} <= guidance.COMMANDS.keys()
    called = {re.split(r"[` ]", shown)[1] for shown in guidance.COMMANDS.values()}
    assert called <= set(COMMANDS)


def test_every_usage_rule_answers_some_advice(guidance: ModuleType) -> None:
    named = {code for each in guidance.advice(guidance.read()["rows"]) for code in each.rules}
    assert {rule.code for rule in rules() if rule.code.startswith("GD6")} - named == {"GD608"}


def test_what_is_called_fine_is_run(guidance: ModuleType, root: Path) -> None:
    runs = set(re.findall(r"def (fine_\w+)", (root / "tests" / "rules" / "usage_guides.py").read_text()))
    fine = guidance.read()["fine"]
    assert {test for _, test, _ in fine} <= runs
    assert {code for _, _, code in fine} <= {rule.code for rule in rules()}
