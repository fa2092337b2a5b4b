"""Programs with planted mistakes, as people write them: each is found where it is, and nothing else is reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

MARK = re.compile(r"# (GD\d{3})$")


@pytest.mark.parametrize("name", ["accelerated", "captioning", "careful", "classes", "parallel", "two_away"])
def test_the_planted_mistakes_are_found_and_nothing_else(name: str) -> None:
    file = Path(__file__).with_name("planted") / f"{name}.py"
    marks = [(n, found[1]) for n, line in enumerate(file.read_text().splitlines(), 1) if (found := MARK.search(line))]
    result = analyse([(file, file.name)])
    assert [(each.location.line, each.rule) for each in result.findings] == marks
