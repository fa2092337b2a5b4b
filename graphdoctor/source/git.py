"""The Python files of a git commit, read from its objects: neither the work tree nor the index is touched.

A repository may come from a stranger, and its configuration can name programs: hooks, monitors of the file system,
filters, external diffs, transports. Only commands are used that read objects and the index, never a file of the work
tree, which filters would see; no lock is taken, and nothing is fetched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

#: What git sets for its hooks: with these it would not look for the repository around the folder in question.
#: And what would name a program or print between the lines that are read here.
_LEFT_OUT = frozenset(
    {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
        *("GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS"),
        *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_TRACE", "GIT_TRACE2"),
    }
)
#: A clone without all objects would fetch what is missing, by the programs that its configuration names.
_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    # The messages of git are read here.
    "LC_ALL": "C",
}
#: For one command. A repository may have a pipe where git reads a file, and it would wait for ever.
_SECONDS = 300
#: These override the settings of the repository. A folder that only looks like a repository is not taken for one.
_SETTINGS = (
    "core.quotePath=false",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "diff.external=",
    "safe.bareRepository=explicit",
)


class GitError(Exception):
    """A git command failed; the text is one line for the user."""


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
    """Write the Python files and notebooks of ``commit`` below ``folder``, and give their paths.

    Raises GitError, OSError.
    """
    entries = _git(commit.top, "ls-tree", "-r", "-z", "--full-tree", commit.name).split(b"\0")
    files: list[tuple[bytes, str]] = []
    for entry in filter(None, entries):
        facts, _, raw = entry.partition(b"\t")
        mode, _, blob = facts.split()
        path = PurePosixPath(os.fsdecode(raw))
        # Regular files only: links and submodules have no source of their own.
        if (
            mode.startswith(b"100")
            and path.suffix in (".py", ".ipynb")
            and ".." not in path.parts
            and not path.is_absolute()
        ):
            files.append((blob, str(path)))
    lacking = (
        f"this clone has not all files of the base {commit.name[:12]}; `git fetch --refetch --no-filter` gets them"
    )
    try:
        contents = _git(commit.top, "cat-file", "--batch", sent=b"".join(blob + b"\n" for blob, _ in files))
    except GitError as error:
        raise GitError(lacking if "promisor" in str(error) else str(error)) from None
    start = 0
    for _, name in files:
        end_of_head = contents.index(b"\n", start)
        head = contents[start:end_of_head].split()
        if len(head) != 3:
            raise GitError(lacking)
        size = int(head[2])
        start = end_of_head + 1 + size + 1
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents[end_of_head + 1 : end_of_head + 1 + size])
    return tuple(name for _, name in files)


def renames(commit: Commit) -> Mapping[str, str]:
    """Files that git sees as renamed between ``commit`` and the index: the old path and the new one.

    To compare with the work tree, git would run filters, and commands in submodules with the settings that these have.
    """
    wanted = ("--name-status", "-z", "--find-renames", "--diff-filter=R", "--ignore-submodules=all", "--no-ext-diff")
    listed = _git(commit.top, "diff-index", "--cached", *wanted, "--no-textconv", commit.name)
    parts = os.fsdecode(listed).split("\0")[:-1]
    return {parts[i + 1]: parts[i + 2] for i in range(0, len(parts), 3)}


def _git(folder: Path, *arguments: str, sent: bytes = b"") -> bytes:
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    command: Sequence[str] = (_program(), "--no-pager", "-C", str(folder), *settings, *arguments)
    environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT} | _ENVIRONMENT
    try:
        done = subprocess.run(command, input=sent, capture_output=True, check=False, env=environment, timeout=_SECONDS)
    except OSError as error:
        raise GitError(f"git cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git {arguments[0]} took more than {_SECONDS} seconds") from None
    if done.returncode:
        lines = os.fsdecode(done.stderr).strip().splitlines() or [f"git {arguments[0]} failed"]
        # Warnings may come before it.
        raise GitError(next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0]))
    return done.stdout


def _program() -> str:
    """The user's git; a relative entry of PATH would be a folder of the code that is scanned. Raises GitError."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    found = shutil.which("git", path=os.pathsep.join(folders)) if folders else None
    if found is None:
        raise GitError("git cannot be started: it is not on the PATH")
    return found
