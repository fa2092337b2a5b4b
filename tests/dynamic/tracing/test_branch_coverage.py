"""Tests of a file, recorded where they stand."""

from __future__ import annotations

import builtins
import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from graphdoctor.dynamic.tracing.branch_coverage import record_tests
from graphdoctor.recorder import definitions
from graphdoctor.syntax.branches import branches

SOURCE = """\
def f(x):
    y = 1 if x > 0 else 2
    if (x > 1
            and x > 2):
        y = 3
    while y > 2:
        y -= 1
    assert y
    for i in range(x):
        y = 4 if i > 1 else 5 if x > 2 else 6
    return y if x else 0
"""


def test_both_outcomes_are_seen_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SourceFileLoader, "get_code", SourceFileLoader.get_code)
    file = tmp_path / "tests_seen_module.py"
    file.write_text(SOURCE)
    try:
        seen = record_tests({str(file): [2, 3, 6, 8, 9, 10]})
        spec = importlib.util.spec_from_file_location("tests_seen_module", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert [module.f(5), module.f(0)] == [4, 0]
    finally:
        vars(builtins).pop("__graphdoctor_test__", None)
    both, places = {True, False}, {place[1:3] for place in seen}
    by_place = {place: {truth for *found, truth in seen if (*found[1:],) == place} for place in places}
    assert by_place == {(2, 13): both, (3, 8): both, (6, 10): both, (8, 11): {True}, (9, 4): {True}, (10, 17): both,
                        (10, 33): {True}}  # fmt: skip
    assert branches(SOURCE, [*range(1, 12)]).keys() == {*places, (11, 16)}


def test_nothing_to_record_changes_nothing() -> None:
    before = SourceFileLoader.get_code
    assert record_tests({}) == set() and SourceFileLoader.get_code is before


def test_the_definitions_of_a_script_are_watched_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "changes", [])
    monkeypatch.setattr(builtins, "__graphdoctor_test__", None, raising=False)
    monkeypatch.setattr(SourceFileLoader, "get_code", SourceFileLoader.get_code)
    script = tmp_path / "gd_watched_script.py"
    script.write_text("def f(x):\n    if x > 0:\n        return 1\n    return 0\n\n\nraise SystemExit\n")
    seen = record_tests({str(script): [2]})
    module = definitions.definitions(script, "")
    monkeypatch.delitem(sys.modules, "gd_watched_script")
    assert (module.f(1), seen) == (1, {(str(script), 2, 7, True)})
