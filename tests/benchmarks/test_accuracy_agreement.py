"""Break sites of our runs beside those of a record."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import graphdoctor
from benchmarks.accuracy.agreement import BadRecord, compare, read, summary
from graphdoctor.model.runs import Break, DynamicRun

#: Any installed package does: nothing of it runs here.
FILE = "graphdoctor/model/findings.py"


def record(folder: Path, lines: Sequence[int], broken: Sequence[int]) -> Path:
    model: dict[str, Any] = {
        "name": "Net",
        "model_file": FILE,
        "eval": {"breaks": [{"site_file": FILE, "site_line": line} for line in broken]},
        "executed_eval": {FILE: [[line, line] for line in lines], "graphdoctor/api.py": [[1, 9]]},
    }
    file = folder / "record.json"
    file.write_text(json.dumps({"models": [model]}))
    return file


def ran(lines: Sequence[int], broken: Sequence[int], mode: Any = "eval") -> DynamicRun:
    path = str(Path(graphdoctor.__file__).parent / "model" / "findings.py")
    breaks = tuple(Break(path, line, 1, "f", "GB0059", "t", "why") for line in broken)
    return DynamicRun(
        "Net", mode, "cpu", "ok", breaks=breaks, executed={path: frozenset(lines), "other.py": frozenset()}
    )


def test_the_same_lines_and_breaks(tmp_path: Path) -> None:
    recorded = read(record(tmp_path, [5, 6, 7], [6]))
    runs = {"graphdoctor.Net": (ran([5, 6, 7], [6, 6]), ran([5], [5], mode="train"))}
    [compared] = compare(recorded, runs)
    assert compared.same and compared.alike == 1.0
    assert summary(recorded, [compared]) == {
        "models_recorded": 1, "models_compared": 1,
        "runs_with_the_same_lines": 1, "of_them_with_the_same_breaks": 1,
        "runs_with_90%_of_the_lines": 1, "of_the_90%_with_the_same_breaks": 1, "differences": [],
    }  # fmt: skip


def test_differences_are_listed_with_how_alike_the_lines_are(tmp_path: Path) -> None:
    recorded = read(record(tmp_path, range(1, 11), [2, 4]))
    [compared] = compare(recorded, {"graphdoctor.Net": (ran(range(1, 12), [4, 11]),)})
    counts = summary(recorded, [compared])
    assert counts["differences"] == [
        {
            "model": "graphdoctor.Net", "mode": "eval", "alike": 0.909,
            "only_in_the_record": [f"{FILE}:2"], "only_here": [f"{FILE}:11"],
        }
    ]  # fmt: skip
    assert (counts["runs_with_the_same_lines"], counts["runs_with_90%_of_the_lines"]) == (0, 1)
    assert counts["of_the_90%_with_the_same_breaks"] == 0


def test_models_that_did_not_run_are_not_compared(tmp_path: Path) -> None:
    recorded = read(record(tmp_path, [5], []))
    assert compare(recorded, {"graphdoctor.Net": (DynamicRun("Net", "eval", "cpu", "raised", "no"),)}) == []
    assert compare(recorded, {}) == []


@pytest.mark.parametrize("text", ["{", "[]", '{"models": [{"name": "Net"}]}', '{"models": [3]}'])
def test_what_is_no_record_is_one_clear_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "record.json"
    file.write_text(text)
    with pytest.raises(BadRecord, match=r"^.*record\.json is no record of runs: .*$"):
        read(file)


def test_the_command_says_what_is_wrong_with_a_record(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.accuracy", "models", str(tmp_path), "--against", str(tmp_path / "no")]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert ended.returncode == 2 and "is no record of runs: FileNotFoundError" in ended.stderr
