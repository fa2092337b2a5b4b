"""Reading a commit: whatever its files are called and hold, and however git is set up."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from graphdoctor.source.git import GitError, base_commit, renames, write_files


def git(folder: Path, *arguments: str) -> None:
    name = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(folder), *name, *arguments], capture_output=True, check=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With one commit of files that are awkward, and the folder for what is written beside it."""
    top = tmp_path / "repository"
    (top / "a folder").mkdir(parents=True)
    (top / "a folder" / "ü\n.py").write_bytes(b"x = 1\r\n\xff\n")
    (top / "empty.py").write_bytes(b"")
    (top / "plain.py").write_text("def f():\n    return 1\n" * 20)
    (top / "data.bin").write_bytes(b"0")
    (top / "link.py").symlink_to("/etc/passwd")
    (top / ".gitattributes").write_text("plain.py export-ignore\n*.py diff=unknown\n")
    git(top, "init", "--quiet")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "first")
    return top


def test_the_python_files_as_they_were(repository: Path, tmp_path: Path) -> None:
    (repository / "plain.py").write_text("changed")
    commit = base_commit("HEAD", repository / "a folder")
    written = write_files(commit, tmp_path / "base")
    assert sorted(written) == ["a folder/ü\n.py", "empty.py", "plain.py"]
    assert (tmp_path / "base" / "a folder" / "ü\n.py").read_bytes() == b"x = 1\r\n\xff\n"
    assert (tmp_path / "base" / "empty.py").read_bytes() == b""
    assert (tmp_path / "base" / "plain.py").read_text().startswith("def f():")
    assert not (tmp_path / "base" / "link.py").is_symlink()
    assert (repository / "plain.py").read_text() == "changed"


def test_renames(repository: Path) -> None:
    git(repository, "mv", "plain.py", "a folder/new name.py")
    git(repository, "config", "diff.renames", "false")
    assert renames(base_commit("HEAD", repository)) == {"plain.py": "a folder/new name.py"}


def test_a_history_without_a_common_commit(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "--orphan", "other")
    git(repository, "commit", "--quiet", "--message", "unrelated")
    first = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    git(repository, "checkout", "--quiet", "--orphan", "third")
    git(repository, "commit", "--quiet", "--message", "unrelated too")
    assert base_commit("other", repository).name == first


def test_without_git(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="git cannot be started: it is not on the PATH"):
        base_commit("HEAD", repository)


def test_inside_a_hook(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert base_commit("HEAD", repository / "a folder").top == repository


def test_a_clone_without_all_objects_fetches_nothing(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    clone, executed = tmp_path / "clone", tmp_path / "executed"
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", repository.as_uri(), str(clone))
    git(clone, "config", "remote.origin.uploadpack", f"touch '{executed}'; git-upload-pack")
    commit = base_commit("HEAD", clone)
    with pytest.raises(GitError, match="this clone has not all files of the base"):
        write_files(commit, tmp_path / "base")
    assert not executed.exists()
    subprocess.run(["git", "-C", str(clone), "cat-file", "-p", "HEAD:plain.py"], capture_output=True, check=False)
    assert executed.exists(), "a check of the check: git itself fetches"


@pytest.mark.parametrize("path", ["", ".", "tools", f".{os.pathsep}tools"])
def test_a_relative_entry_of_the_path_is_not_looked_at(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "tools").mkdir()
    for folder in (tmp_path, tmp_path / "tools"):
        (folder / "git").write_text(f"#!/bin/sh\ntouch '{tmp_path}/executed'\n")
        (folder / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    with pytest.raises(GitError, match="not on the PATH"):
        base_commit("HEAD", repository)
    assert not (tmp_path / "executed").exists()


def test_settings_of_the_environment_name_no_program(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed = repository / "executed"
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS"):
        monkeypatch.setenv(name, f"touch '{executed}'; true")
    monkeypatch.setenv("GIT_TRACE", "1")
    git(repository, "mv", "plain.py", "new.py")
    assert renames(base_commit("HEAD", repository)) == {"plain.py": "new.py"}
    with pytest.raises(GitError, match="'nowhere' names no commit here"):
        base_commit("nowhere", repository)
    assert not executed.exists()
