import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.dynamic.tracing.line_coverage import executed_lines

TEXT = "def f(x):\n    if x:\n        return 1\n    return 2\n\ndef in_thread():\n    return 3\n"


def module(path: Path) -> dict[str, Any]:
    path.write_text(TEXT)
    namespace: dict[str, Any] = {}
    exec(compile(TEXT, str(path), "exec"), namespace)
    return namespace


def test_only_lines_that_ran_in_watched_files(tmp_path: Path) -> None:
    watched, other = module(tmp_path / "a.py"), module(tmp_path / "b.py")
    before = sys.gettrace()
    with executed_lines([str(tmp_path / "a.py")]) as lines:
        watched["f"](False)
        other["f"](True)
        thread = threading.Thread(target=watched["in_thread"])
        thread.start()
        thread.join()
    assert lines == {str(tmp_path / "a.py"): {2, 4, 7}}
    assert sys.gettrace() is before


def test_code_without_a_file_runs_where_the_working_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = module(tmp_path / "a.py")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with executed_lines([str(tmp_path / "a.py")]) as lines:
        exec("def g(f):\n    f(False)\ng(f)", {"f": watched["f"]})
    assert lines == {str(tmp_path / "a.py"): {2, 4}}


def test_nothing_is_traced_without_paths() -> None:
    before = sys.gettrace()
    with executed_lines([]) as lines:
        assert sys.gettrace() is before
    assert lines == {}
