"""Results of the static pass, kept between scans: a file that stayed as it was, with all that it imports, is not read.

One entry is one small file, named by what was asked. It says which files the result depends on and what they held, so
it can be stale, but not wrong. Entries are written as a whole and never locked; one that cannot be read does not count.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import os
import platform
import time
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphdoctor
from graphdoctor.model import Edit, Finding, Fix, Location, ScannedFile
from graphdoctor.static.result import FileResult
from graphdoctor.torch_version import torch_stamps

if TYPE_CHECKING:
    from graphdoctor.static.result import PathOf

#: Entries that were not written anew for so long are deleted.
_DAYS = 30
#: What a result is computed by: modules and tables of the package, those in its folders, the parser's nodes.
_CODE = ("graphdoctor", "graphdoctor.static", "graphdoctor.source", "graphdoctor.fixes", "graphdoctor.rules", "libcst")


def default_folder() -> Path:
    """The folder of this user for what can be computed anew."""
    # A folder that is named takes no look at the system.
    import platformdirs

    return Path(platformdirs.user_cache_dir("graphdoctor", appauthor=False))


class Cache:
    """``asked`` is what was asked of the static pass, beside the file: two scans that differ in it share no entry."""

    def __init__(self, folder: Path, asked: Sequence[str]) -> None:
        self._folder = folder / "static"
        self._asked = asked
        self._digests: dict[str, str] = {}
        self._shown: dict[str, str | None] = {}

    def recall(self, file: Path, path: str, path_of: PathOf) -> FileResult | None:
        """The result for ``file``, a resolved path shown as ``path``; None where there is none that still holds.

        ``path_of`` says how the scan shows other files, as it does for the static pass, the same for all of one cache.
        """
        try:
            entry = json.loads(zlib.decompress(self._entry(file, path).read_bytes()))
            if any(self._digest(name) != digest for name, digest in entry["looked_at"].items()):
                return None
            if any(self._path(name, path_of) != shown for name, shown in entry["shown"].items()):
                return None
            return _result(entry)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zlib.error):
            return None

    def keep(self, file: Path, path: str, result: FileResult, path_of: PathOf) -> None:
        """Keep what was found in ``file``, a resolved path; nothing where it could not be analysed as a whole."""
        if result.scanned.status != "scanned" or result.scanned.reason is not None:
            return
        entry = {
            "looked_at": {name: self._digest(name) for name in sorted(result.looked_at)},
            "shown": {
                name: self._path(name, path_of)
                for name in sorted(result.looked_at)
                if self._digest(name) and name != str(file)
            },
            "scanned": dataclasses.asdict(result.scanned),
            "findings": [dataclasses.asdict(finding) for finding in result.findings],
            "judged": None if result.judged is None else sorted(result.judged),
            "helpers": {shown: str(helper) for shown, helper in result.helpers.items()},
            "compiles": result.compiles,
        }
        # A folder that cannot be written to only costs the time of the next scan.
        with contextlib.suppress(OSError):
            _write(self._entry(file, path), zlib.compress(json.dumps(entry).encode(), 1))

    def prune(self) -> None:
        """Delete entries of files that are not scanned any more, at most once a day."""
        with contextlib.suppress(OSError):
            mark, now = self._folder / "pruned", time.time()
            if mark.exists() and now - mark.stat().st_mtime < 86_400:
                return
            for entry in self._folder.glob("*/*"):
                if now - entry.stat().st_mtime > _DAYS * 86_400:
                    entry.unlink()
            _write(mark, b"")

    def _entry(self, file: Path, path: str) -> Path:
        name = hashlib.blake2b("\0".join((self._asked_of, str(file), path)).encode(), digest_size=16)
        return self._folder / name.hexdigest()[:2] / name.hexdigest()[2:]

    @cached_property
    def _asked_of(self) -> str:
        return "\0".join((*self._asked, *_program()))

    def _path(self, name: str, path_of: PathOf) -> str | None:
        """How the scan shows the file ``name``, which many others import."""
        if name not in self._shown:
            self._shown[name] = path_of(Path(name))
        return self._shown[name]

    def _digest(self, file: str) -> str:
        """What tells whether ``file`` holds what it held; empty where there is none."""
        known = self._digests.get(file)
        if known is None:
            try:
                known = hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()
            except OSError:
                known = ""
            self._digests[file] = known
        return known


def stamps(folder: Path) -> Iterator[str]:
    """What tells whether modules and tables right in ``folder`` stayed as they were, without reading them."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.endswith((".py", ".json")):
            state = entry.stat()
            yield f"{entry.name} {state.st_mtime_ns} {state.st_size}"


def _program() -> Iterator[str]:
    yield graphdoctor.__version__
    yield platform.python_version()
    for name in _CODE:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            yield from stamps(Path(folder))
    yield from torch_stamps()


def _result(entry: dict[str, Any]) -> FileResult:
    return FileResult(
        ScannedFile(**entry["scanned"]),
        tuple(_finding(raw) for raw in entry["findings"]),
        None if entry["judged"] is None else frozenset(entry["judged"]),
        {shown: Path(helper) for shown, helper in entry["helpers"].items()},
        compiles=entry["compiles"],
    )


def _finding(raw: dict[str, Any]) -> Finding:
    fix = raw["fix"]
    if fix is not None:
        fix = Fix(**{**fix, "edits": tuple(_edit(edit) for edit in fix["edits"])})
    sequences = {"gb_ids": tuple(raw["gb_ids"]), "snippet": tuple(raw["snippet"])}
    return Finding(**{**raw, **sequences, "location": Location(**raw["location"]), "fix": fix})


def _edit(raw: dict[str, Any]) -> Edit:
    return Edit(**{**raw, "start": tuple(raw["start"]), "end": tuple(raw["end"])})


def _write(file: Path, data: bytes) -> None:
    """Write as a whole, or not at all; two processes may write the same entry."""
    import tempfile

    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
