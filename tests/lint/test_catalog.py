"""The rules that ship with graphdoctor."""

from __future__ import annotations

import inspect
import re
import typing
from pathlib import Path

import pytest

from graphdoctor.lint.catalog import rules
from graphdoctor.static.rule import Rule


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_every_check_is_named_after_the_event_it_takes(rule: Rule) -> None:
    # The engine looks a check up by the name of the event, so one named otherwise would never be asked.
    for name, check in rule.checks.items():
        (event,) = list(inspect.signature(check).parameters)
        assert typing.get_type_hints(check)[event].__name__.lower() == name


#: Words that readers of the reports stumbled over; docs/glossary.md has those of the field.
UNUSUAL = re.compile(r"\b(mend(s|ed|ing)?|mostly|shall)\b", re.IGNORECASE)


@pytest.mark.parametrize("folder", ["rules", "graphdoctor/breaks"])
def test_texts_are_in_plain_words(root: Path, folder: str) -> None:
    texts = {file.name: file.read_text() for file in (root / folder).glob("*.py")}
    assert len(texts) > 5
    assert {name: found[0] for name, text in texts.items() if (found := UNUSUAL.search(text))} == {}
