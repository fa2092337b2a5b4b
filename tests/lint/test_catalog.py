"""The rules that ship with graphdoctor."""

from __future__ import annotations

import inspect
import typing

import pytest

from graphdoctor.lint.catalog import rules
from graphdoctor.static.rule import Rule


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_every_check_is_named_after_the_event_it_takes(rule: Rule) -> None:
    # The engine looks a check up by the name of the event, so one named otherwise would never be asked.
    for name, check in rule.checks.items():
        (event,) = list(inspect.signature(check).parameters)
        assert typing.get_type_hints(check)[event].__name__.lower() == name
