"""Results of the static pass, kept between scans: a file that stayed as it was, with all that it imports, is not read.

One entry is one small file, named by a digest of the request. It lists the files that the result depends on, with
digests of their texts, so it can be stale, but not wrong. Entries are written as a whole and never
locked; one that cannot be read does not count.
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
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphdoctor
from graphdoctor.lint.result import FileResult, FoundRegion
from graphdoctor.model.findings import Finding, ScannedFile
from graphdoctor.model.typed_json import Types
from graphdoctor.source.files import read_bytes
from graphdoctor.target_torch.installed import torch_stamps

if TYPE_CHECKING:
    from graphdoctor.lint.result import PathOf

#: Days after which an entry that was not written again is deleted.
_DAYS = 30
#: The code that computes results: packages of graphdoctor with all that is in them, and installed ones (the parser's
#: nodes).
_CODE = ("breaks", "config", "fixes", "lint", "model", "scan", "source", "static", "syntax", "target_torch")
_INSTALLED = ("graphdoctor.rules", "libcst")
#: Bytes of an entry, packed and unpacked; what is larger does not count.
_PACKED = 16 << 20
_UNPACKED = 64 << 20
_TYPES = Types()


def default_folder() -> Path:
    """The user's folder for what can be computed again."""
    # A folder that is named takes no look at the system.
    import platformdirs

    return Path(platformdirs.user_cache_dir("graphdoctor", appauthor=False))


class Cache:
    """``key`` is what results depend on beside the files: two scans that differ in it share no entry."""

    def __init__(self, folder: Path, key: Sequence[str]) -> None:
        self._folder = folder / "static"
        self._key = key
        self._digests: dict[str, str] = {}
        self._shown: dict[str, str | None] = {}

    def recall(self, file: Path, path: str, path_of: PathOf) -> FileResult | None:
        """The result for ``file``, a resolved path shown as ``path``; None where there is none that still holds.

        ``path_of`` says how the scan shows other files, as it does for the static pass, the same for all of one cache.
        """
        try:
            entry = _unpacked(read_bytes(self._entry(file, path), _PACKED))
            if any(self._digest(name) != digest for name, digest in entry["looked_at"].items()):
                return None
            if any(self._path(name, path_of) != shown for name, shown in entry["shown"].items()):
                return None
            return _result(entry)
        # A Mismatch is a ValueError.
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError, zlib.error):
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
            "regions": [{**dataclasses.asdict(found), "calls": sorted(found.calls)} for found in result.regions],
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
        # The names of files need not be UTF-8.
        key = "\0".join((self._full_key, str(file), path)).encode("utf-8", "backslashreplace")
        name = hashlib.blake2b(key, digest_size=16)
        return self._folder / name.hexdigest()[:2] / name.hexdigest()[2:]

    @cached_property
    def _full_key(self) -> str:
        return "\0".join((*self._key, *_program()))

    def _path(self, name: str, path_of: PathOf) -> str | None:
        """How the scan shows the file ``name``, which many others import."""
        if name not in self._shown:
            self._shown[name] = path_of(Path(name))
        return self._shown[name]

    def _digest(self, file: str) -> str:
        """A digest of the text of ``file``, for a folder the names of the modules in it; empty where there is none."""
        known = self._digests.get(file)
        if known is None:
            try:
                known = hashlib.blake2b(read_bytes(file), digest_size=16).hexdigest()
            except FileNotFoundError:
                known = ""
            except OSError:
                known = _names_in(Path(file))
            self._digests[file] = known
        return known


def _names_in(folder: Path) -> str:
    """The names of the modules in a folder; empty for what is none."""
    # The names of files need not be UTF-8.
    names = (file.name.encode("utf-8", "backslashreplace").decode() for file in folder.glob("*.py"))
    return "/".join(sorted(names))


def stamps(folder: Path) -> Iterator[str]:
    """A stamp of the modules and tables in ``folder``, which changes with them; they are not read."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.endswith((".py", ".json")):
            state = entry.stat()
            yield f"{entry.name} {state.st_mtime_ns} {state.st_size}"


def _program() -> Iterator[str]:
    yield graphdoctor.__version__
    yield platform.python_version()
    yield from stamps(Path(graphdoctor.__file__).parent)
    for name in _CODE:
        for folder, _, _ in os.walk(Path(graphdoctor.__file__).with_name(name)):
            yield from stamps(Path(folder))
    for name in _INSTALLED:
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            yield from stamps(Path(place))
    yield from torch_stamps()


def _unpacked(packed: bytes) -> Any:
    """The entry in ``packed``. Raises ValueError or zlib.error, also where it would take too much memory."""
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, _UNPACKED)
    if not unpacking.eof:
        raise ValueError("an entry that is too large, or cut")
    return json.loads(data)


def _result(entry: dict[str, Any]) -> FileResult:
    helpers = _TYPES.read(Mapping[str, str], entry["helpers"])
    return FileResult(
        _TYPES.read(ScannedFile, entry["scanned"]),
        _TYPES.read(tuple[Finding, ...], entry["findings"]),
        _TYPES.read(frozenset[int] | None, entry["judged"]),
        {shown: Path(helper) for shown, helper in helpers.items()},
        compiles=_TYPES.read(bool, entry["compiles"]),
        regions=_TYPES.read(tuple[FoundRegion, ...], entry["regions"]),
    )


def _write(file: Path, data: bytes) -> None:
    """Write as a whole, or not at all; two processes may write the same entry."""
    import tempfile

    try:
        handle, name = tempfile.mkstemp(dir=file.parent)
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
