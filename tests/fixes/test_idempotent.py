"""Fixing what is fixed changes nothing: the examples of the rules and the fixtures, through all fixes, twice."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import graphdoctor.rules
import pytest

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint.engine import analyse

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("[!b]*/*.py"))


def fixed(text: str, file: Path) -> str:
    file.write_text(text)
    chosen, _ = select_fixes(analyse([(file, file.name)]).findings, unsafe=True)
    return fixed_texts({file.name: text}, chosen).get(file.name, text)


def examples() -> Iterator[object]:
    for module in pkgutil.iter_modules(graphdoctor.rules.__path__):
        if not module.name.startswith("_"):
            rule = importlib.import_module(f"graphdoctor.rules.{module.name}")
            yield pytest.param(rule.BREAKS, id=module.name)


@pytest.mark.parametrize("sources", list(examples()))
def test_the_examples_of_a_rule(tmp_path: Path, sources: list[str]) -> None:
    for source in sources:
        once = fixed(source, tmp_path / "model.py")
        ast.parse(once)
        assert fixed(once, tmp_path / "model.py") == once


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_fixture(tmp_path: Path, fixture: Path) -> None:
    once = fixed(fixture.read_text(), tmp_path / "model.py")
    ast.parse(once)
    assert fixed(once, tmp_path / "model.py") == once
