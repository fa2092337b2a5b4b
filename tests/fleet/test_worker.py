"""What a fleet keeps of the scan of one target."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from graphdoctor.fleet.worker import scan
from graphdoctor.model.fleet import Limits, Target


def test_a_file_that_does_not_parse_failed(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def graphdoctor_target():\n    return (\n")
    (tmp_path / "reports").mkdir()
    target = Target("broken.py", ("broken.py",), tmp_path)
    found = scan(target, ("--isolated",), Limits(600, 16384), tmp_path, "key", Event())
    assert (found.outcome, found.detail) == ("failed", "syntax error in line 2: '(' was never closed")
