"""When a result is no longer that of its target."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.fleet.identity import key
from graphdoctor.model.fleet import Target


@pytest.mark.parametrize("argument", ["zoo.py", "zoo:make", "."])
def test_what_a_target_names_is_looked_at(argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "zoo.py"
    file.write_text("def make(): ...\n")
    target = Target("net", (argument,), tmp_path)
    before = key(target, ())
    assert key(target, ()) == before
    assert key(target, ("--no-run",)) != before
    file.write_text("def make(): return 1\n")
    assert key(target, ()) != before


def test_a_target_that_is_not_there_has_a_key_too(tmp_path: Path) -> None:
    missing = [key(Target("net", (name,), tmp_path), ()) for name in ("gone.py", "gone:make")]
    assert len({*missing}) == 2
