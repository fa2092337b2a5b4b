"""What changed: the texts of files before and after, from two files, a patch, or a commit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from graphdoctor.changes.patch import PatchError, parse
from graphdoctor.fixes.core.diff import edits_between
from graphdoctor.model.findings import Finding, Fix, Location
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import decode, decode_as, read, read_bytes
from graphdoctor.source.git import GitError, base_commit, write_files


class ChangeError(Exception):
    """A change that cannot be read; the text is one line for the user."""


@dataclass(frozen=True)
class Change:
    """The texts of the changed files by absolute path, links resolved. What is not named is as it is on disk."""

    before: Mapping[Path, str] = field(default_factory=dict)
    after: Mapping[Path, str] = field(default_factory=dict)


def of_files(before: Path, after: Path) -> Change:
    """The code of ``after`` in the place of ``before``. Raises ChangeError."""
    return _differing({before.resolve(): (_text(before), _text(after))})


def of_patch(patch: Path, folder: Path) -> Change:
    """A unified diff whose paths start from ``folder``, or from the repository around it. Raises ChangeError."""
    try:
        return of_patch_text(decode(read_bytes(patch))[0], str(patch), folder)
    except OSError as error:
        raise ChangeError(f"{patch} cannot be read: {error.strerror}") from None
    except SourceError as error:
        raise ChangeError(f"{patch} {error}") from None


def of_patch_text(patch: str, name: str, folder: Path) -> Change:
    """As ``of_patch``, of the text of a patch that messages call ``name``. Raises ChangeError."""
    try:
        files = parse(patch)
        top = next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)
        texts = {}
        for one in files:
            file = next((place for base in (folder, top) if (place := base / one.path).is_file()), None)
            if file is None:
                raise PatchError(f"{one.path}: no such file from {folder} on, nor from {top}")
            file = file.resolve()
            raw = decode(read_bytes(file))[0]
            texts[file] = (_text(file), decode_as(file, one.apply(raw).encode())[0])
    except PatchError as error:
        raise ChangeError(f"{name}: {error}") from None
    except (OSError, SourceError) as error:
        raise ChangeError(f"{name}: a file cannot be patched: {error}") from None
    return _differing(texts)


def since(ref: str, folder: Path) -> Change:
    """What the work tree around ``folder`` has changed since HEAD left ``ref``. Raises ChangeError."""
    try:
        commit = base_commit(ref, folder)
        with tempfile.TemporaryDirectory(prefix="graphdoctor-base-") as base:
            names = write_files(commit, Path(base))
            files = {Path(os.path.realpath(commit.top)) / name: Path(base) / name for name in names}
            texts = {file: (_text(was), _text(file)) for file, was in files.items() if _has_changed(file, was)}
    except GitError as error:
        raise ChangeError(f"--against: {error}") from None
    except OSError as error:
        raise ChangeError(f"--against: {error.strerror}") from None
    return _differing(texts)


def _has_changed(file: Path, was: Path) -> bool:
    # What is gone cannot be run by what is there now.
    return file.is_file() and read_bytes(file) != read_bytes(was)


def _text(file: Path) -> str:
    try:
        return read(file)[0]
    except SourceError as error:
        raise ChangeError(f"{file} {error}") from None


def _differing(texts: Mapping[Path, tuple[str, str]]) -> Change:
    """Raises ChangeError where nothing changes."""
    changed = {file: pair for file, pair in texts.items() if pair[0] != pair[1]}
    if not changed:
        raise ChangeError("nothing changes: the code before and after is the same")
    return Change(
        {file: before for file, (before, _) in changed.items()}, {file: after for file, (_, after) in changed.items()}
    )


def as_findings(shown: Mapping[Path, str], change: Change) -> tuple[Finding, ...]:
    """The change as fixes, one for each group of changed lines, so that all that proves fixes can prove it.

    ``shown`` returns the path under which a file is shown.
    """
    return tuple(
        finding for file, before in change.before.items() for finding in _hunks(shown[file], before, change.after[file])
    )


def _hunks(path: str, before: str, after: str) -> Iterator[Finding]:
    for edit in edits_between(path, before, after):
        first, (end, column) = edit.start[0], edit.end
        # Of what is put in between, no line of the original is changed.
        place = Location(path, first, 1, max(end - (column == 1), first), 1)
        fix = Fix("unsafe", "written by somebody else", (edit,))
        name = "change"
        yield Finding(name, name, "info", "possible", place, "", "", "", "", fix=fix, fingerprint=f"{path}:{first - 1}")
