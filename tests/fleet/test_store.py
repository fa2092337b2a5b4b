"""The results in one file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from graphdoctor.fleet.store import NAME, BadStore, existing, opened
from graphdoctor.model.findings import Summary
from graphdoctor.model.fleet import Result

SUMMARY = Summary("not-ready", "Not ready", 2, 1, 3, 2, 4, 1, 1, 0)
DONE = Result("net", "k", "done", 1.5, 300, "", SUMMARY, '{"é": 1}', "reports/net.html")


def test_what_is_written_is_there_for_the_next_one(tmp_path: Path) -> None:
    crashed = Result("other", "k", "crashed", 0.1, detail="killed by SIGSEGV")
    with opened(tmp_path / NAME) as store:
        store.put(crashed)
        store.put(replace(DONE, seconds=9.0))
        store.put(DONE)
    assert existing(tmp_path) == existing(tmp_path / NAME) == {"net": DONE, "other": crashed}
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        query = "select name from results where verdict = 'not-ready' and breaks_own > 1"
        assert connection.execute(query).fetchall() == [("net",)]


def test_another_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create table results (name)")
        connection.commit()
    before = file.read_bytes()
    with pytest.raises(BadStore, match="is not the store of a fleet"), opened(file):
        pass
    assert file.read_bytes() == before
    (tmp_path / "text").write_text("no database at all, but long enough to have a header of one" * 3)
    for path in ("text", "missing"):
        with pytest.raises(BadStore, match=path):
            existing(tmp_path / path)
