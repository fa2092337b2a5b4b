"""Tests of a file, recorded where they stand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from graphdoctor.dynamic.tests_seen import record_tests

SOURCE = """\
def f(x):
    y = 1 if x > 0 else 2
    if (x > 1
            and x > 2):
        y = 3
    while y > 2:
        y -= 1
    assert y
    return y if x else 0
"""


def test_both_outcomes_are_seen_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins
    from importlib.machinery import SourceFileLoader

    monkeypatch.setattr(SourceFileLoader, "get_code", SourceFileLoader.get_code)
    file = tmp_path / "tests_seen_module.py"
    file.write_text(SOURCE)
    try:
        seen = record_tests({str(file): [2, 3, 6, 8]})
        spec = importlib.util.spec_from_file_location("tests_seen_module", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert [module.f(5), module.f(0)] == [2, 0]
    finally:
        vars(builtins).pop("__graphdoctor_test__", None)
    by_line = {line: {truth for _, number, truth in seen if number == line} for line in range(1, 10)}
    both = {True, False}
    assert by_line == {1: set(), 2: both, 3: both, 4: set(), 5: set(), 6: both, 7: set(), 8: {True}, 9: set()}


def test_nothing_to_record_changes_nothing() -> None:
    from importlib.machinery import SourceFileLoader

    before = SourceFileLoader.get_code
    assert record_tests({}) == set() and SourceFileLoader.get_code is before
