"""The Python files of a git commit, read from its objects: neither the work tree nor the index is touched."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

#: What git sets for its hooks: with these it would not look for the repository around the folder that is asked for.
_OF_HOOKS = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})


class GitError(Exception):
    """Git cannot give what was asked for; the text is one line for the user."""


@dataclass(frozen=True)
class Commit:
    """A commit of the repository whose work tree is ``top``."""

    top: Path
    name: str


def base_commit(ref: str, folder: Path) -> Commit:
    """The commit at which ``HEAD`` left ``ref``; ``ref`` itself where they share none, as in a shallow clone.

    Raises GitError.
    """
    top = Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel")).rstrip("\n"))
    try:
        name = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
    except GitError:
        raise GitError(f"{ref!r} names no commit here; `git fetch` it first, or check the spelling") from None
    with contextlib.suppress(GitError):
        name = _git(top, "merge-base", name, "HEAD").decode().strip() or name
    return Commit(top, name)


def write_files(commit: Commit, folder: Path) -> tuple[str, ...]:
    """Write the Python files of ``commit`` below ``folder`` and give their paths. Raises GitError, OSError."""
    entries = _git(commit.top, "ls-tree", "-r", "-z", "--full-tree", commit.name).split(b"\0")
    files: list[tuple[bytes, str]] = []
    for entry in filter(None, entries):
        facts, _, raw = entry.partition(b"\t")
        mode, _, blob = facts.split()
        path = PurePosixPath(os.fsdecode(raw))
        # Regular files only: links and submodules have no source of their own.
        if mode.startswith(b"100") and path.suffix == ".py" and ".." not in path.parts and not path.is_absolute():
            files.append((blob, str(path)))
    contents = _git(commit.top, "cat-file", "--batch", sent=b"".join(blob + b"\n" for blob, _ in files))
    start = 0
    for _, name in files:
        end_of_head = contents.index(b"\n", start)
        size = int(contents[start:end_of_head].split()[2])
        start = end_of_head + 1 + size + 1
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents[end_of_head + 1 : end_of_head + 1 + size])
    return tuple(name for _, name in files)


def renames(commit: Commit) -> Mapping[str, str]:
    """Files that git sees as renamed between ``commit`` and the work tree: the old path and the new one."""
    # diff-index, because diff refreshes the index.
    listed = _git(commit.top, "diff-index", "--name-status", "-z", "--find-renames", "--diff-filter=R", commit.name)
    parts = os.fsdecode(listed).split("\0")[:-1]
    return {parts[i + 1]: parts[i + 2] for i in range(0, len(parts), 3)}


def _git(folder: Path, *arguments: str, sent: bytes = b"") -> bytes:
    command: Sequence[str] = ("git", "-C", str(folder), "-c", "core.quotePath=false", *arguments)
    environment = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
    try:
        done = subprocess.run(command, input=sent, capture_output=True, check=False, env=environment)
    except OSError as error:
        raise GitError(f"git cannot be started: {error.strerror}") from None
    if done.returncode:
        reason = os.fsdecode(done.stderr).strip().partition("\n")[0] or f"git {arguments[0]} failed"
        raise GitError(reason)
    return done.stdout
