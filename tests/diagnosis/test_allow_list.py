"""The allow-list: what it must say, what it allows, and until when."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.config import project
from graphdoctor.config.allow_list import allowances, expired, with_allowed

ENTRY = {"rule": "GD101", "path": "src/*.py", "reason": "legacy", "expires": "2027-01-31"}
ROOT = Path("/repo")


def allowed(build: Any, today: str = "2026-06-01", path: str = "src/a.py", **entry: str) -> str:
    """The reason that a GD101 in ``path`` gets."""
    entries = allowances([{**ENTRY, **entry}], ROOT)
    text: str = with_allowed([build.finding(path=path)], entries, ROOT, date.fromisoformat(today))[0].allowed
    return text


def test_through_its_last_day(build: Any) -> None:
    assert allowed(build, today="2027-01-31") == "legacy (until 2027-01-31)"
    assert allowed(build, today="2027-02-01") == ""


@pytest.mark.parametrize("rule", ["GD101", "GD1", "print-in-graph"])
def test_a_rule_by_code_beginning_or_name(build: Any, rule: str) -> None:
    assert allowed(build, rule=rule)


def test_another_rule_and_another_path_are_not_allowed(build: Any) -> None:
    assert not allowed(build, rule="GD2")
    assert not allowed(build, path="tests/a.py")
    assert allowed(build, path="src/deep/a.py")


def test_expired_entries_are_named(build: Any) -> None:
    entries = allowances([ENTRY], ROOT)
    assert expired(entries, date(2027, 1, 31)) == ()
    assert expired(entries, date(2027, 2, 1)) == (
        "allow-list: the entry for GD101 in src/*.py (legacy) expired on 2027-01-31 and allows nothing any more",
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("GD101", "allow must be a list of tables"),
        ([{**ENTRY, "reason": " "}], "allow entry 1: reason is missing"),
        ([ENTRY, {"rule": "GD1"}], "allow entry 2: path is missing"),
        ([{**ENTRY, "expires": "soon"}], "allow entry 1: expires must be a date such as 2027-01-31, not 'soon'"),
        ([{**ENTRY, "until": "x"}], "allow entry 1: unknown key 'until'; known are rule, path, reason, expires"),
    ],
)
def test_what_an_entry_must_say(value: object, message: str) -> None:
    with pytest.raises(ValueError) as error:
        allowances(value, ROOT)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "pyproject.toml",
            "[[tool.graphdoctor.allow]]\nrule = 'GD101'\npath = 'src/*.py'\nreason = 'legacy'\nexpires = 2027-01-31\n",
        ),
        (
            "setup.cfg",
            "[graphdoctor.allow.print]\nrule = GD101\npath = src/*.py\nreason = legacy\nexpires = 2027-01-31\n",
        ),
    ],
)
def test_in_both_files(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert project.load(tmp_path).allow == allowances([ENTRY], tmp_path)
    (tmp_path / name).write_text(text.replace("reason", "why"))
    with pytest.raises(project.ConfigError, match=f"{name}: allow entry 1: unknown key 'why'"):
        project.load(tmp_path)
