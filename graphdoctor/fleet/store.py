"""The results of a fleet in one SQLite file, each written when it is there."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path

from graphdoctor.model.findings import Summary
from graphdoctor.model.fleet import Result

NAME = "fleet.sqlite"

#: "GDFL": which distinguishes the file from those of other programs (https://www.sqlite.org/pragma.html#pragma_application_id).
_APPLICATION = 0x4744464C
_VERSION = 1
_SUMMARY = tuple(field.name for field in fields(Summary))
_OWN = ("name", "key", "outcome", "seconds", "memory_mb", "detail", "page")
_COLUMNS = (*_OWN, *_SUMMARY, "report")
_TABLE = f"create table results ({', '.join(_COLUMNS)}, primary key (name))"


class BadStore(Exception):
    """The file is not the store of a fleet; the text is one line."""


class Store:
    """The results by name. ``report`` is the JSON of the scan, compressed by zlib; the numbers of its summary stand
    beside it, so that SQL can ask for them.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, result: Result) -> None:
        """Write the result, in place of an earlier one of this name."""
        summary = asdict(result.summary) if result.summary else dict.fromkeys(_SUMMARY)
        own = [getattr(result, column) for column in _OWN]
        row = [*own, *(summary[column] for column in _SUMMARY), zlib.compress(result.report.encode())]
        with self._connection:
            marks = ", ".join("?" * len(_COLUMNS))
            self._connection.execute(f"insert or replace into results values ({marks})", row)

    def results(self) -> dict[str, Result]:
        """All that there are, by name."""
        return {result.name: result for result in self._rows()}

    def _rows(self) -> Iterator[Result]:
        for row in self._connection.execute(f"select {', '.join(_COLUMNS)} from results"):
            values = dict(zip(_COLUMNS, row, strict=True))
            summary = {column: values.pop(column) for column in _SUMMARY}
            report = zlib.decompress(values.pop("report")).decode()
            yield Result(**values, summary=Summary(**summary) if summary["verdict"] else None, report=report)


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The store at ``path``, made where there is none. Raises BadStore."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            _prepare(connection, path)
            yield Store(connection)
    except sqlite3.Error as error:
        raise BadStore(f"{path}: {error}") from None


def existing(path: Path) -> dict[str, Result]:
    """The results of an earlier fleet: of its store, or of the folder that holds it. Raises BadStore."""
    file = path / NAME if path.is_dir() else path
    if not file.is_file():
        raise BadStore(f"{path}: there is no fleet: give its folder, or its {NAME}")
    with opened(file) as store:
        return store.results()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    [application], [version] = (
        connection.execute(f"pragma {name}").fetchone() for name in ("application_id", "user_version")
    )
    if not application and not connection.execute("select count(*) from sqlite_schema").fetchone()[0]:
        with connection:
            connection.execute(_TABLE)
            connection.execute(f"pragma application_id = {_APPLICATION}")
            connection.execute(f"pragma user_version = {_VERSION}")
    elif (application, version) != (_APPLICATION, _VERSION):
        raise BadStore(f"{path}: is not the store of a fleet of this version of graphdoctor")
