"""What the benchmark of fixes counts."""

from pathlib import Path

import pytest

from benchmarks.accuracy.runs import Model
from benchmarks.fixes.case import Result, Written
from benchmarks.fixes.cases import make
from benchmarks.fixes.table import BEGIN, END, markdown, summary, with_tables


def test_models_in_one_graph_are_told_from_those_that_only_break_less() -> None:
    local = Written("GD201", "verified", 1, "m.py:3", whole_process=False)
    setting = Written("GD211", "unsafe", 2, "m.py:1", whole_process=True)
    results = [
        Result("one", before=3, after=0, fullgraph=True, rounds=2, fixes=(local, setting)),
        Result("less", mode="train", before=4, after=1, rounds=1, fixes=(local,)),
        Result("more", before=1, after=2, rounds=1),
        Result("clean", fullgraph=True),
        Result("broken", error="no module"),
    ]
    found = summary(results)
    assert (found["models"], found["not_run"], found["models_that_break"]) == (5, 1, 3)
    assert (found["breaks_before"], found["breaks_removed"]) == (8, 6)
    assert (found["to_zero"], found["to_zero_by_a_setting"], found["to_zero_without_unsafe"]) == (1, 1, 0)
    assert found["fixes_by_rule"] == {"GD201": {"verified": 2}, "GD211": {"unsafe": 1}}
    text = markdown(found)
    assert (
        "| one | 3 | 0 | yes | 2 | 0 | 1 | 1 |" in text
        and "| less (train) | 4 |" in text
        and "| more | 1 | 2 | no | 1 | 0 | 0 | 0 |" in text
    )
    assert "clean" not in text and "broken" not in text
    page = f"Before\n{BEGIN}\nold\n{END}\nafter\n"
    assert with_tables(page, "new\n") == f"Before\n{BEGIN}\nnew\n{END}\nafter\n"


def test_models_that_broke_become_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "site" / "littlelib"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("X = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    make(Model("littlelib", "Net"), tmp_path / "cases")
    case = tmp_path / "cases" / "Net"
    assert (case / "littlelib" / "__init__.py").read_text() == "X = 1\n"
    assert "return build('Net')" in (case / "sample.py").read_text()
