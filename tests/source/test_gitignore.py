"""What git ignores, compared with git itself."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from graphdoctor.source.discover import discover
from graphdoctor.source.gitignore import GitIgnore

NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PATTERNS = (
    "a.py", "*.py", "/a.py", "sub/", "sub", "sub/*", "/sub/a.py", "**/deep", "deep/**", "sub/**/a.py", "!a.py", "!b.py",
    "*.p?", "[ab].py", "[!a].py", "\\!odd.py", "# a comment", "", "a.py   ", "deep/", "!deep/", "*", "!*/", "/*/deep",
    "sub/deep/b.py", "\\#hash.py", "x[", "**", "***.py", "[]a].py", "!/sub/",
)  # fmt: skip
FOLDERS = ("", "sub/", "sub/deep/", "other/", "other/deep/")
NAMES = ("a.py", "b.py", "!odd.py", "#hash.py", "].py")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for folder in FOLDERS:
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in NAMES:
            (tmp_path / folder / name).write_text("")
    return tmp_path


@NEEDS_GIT
def test_the_same_files_as_git(repository: Path) -> None:
    choose = random.Random(0)
    for _ in range(60):
        files = {repository / ".gitignore": 4, repository / choose.choice(FOLDERS[1:]) / ".gitignore": 2}
        for file, lines in files.items():
            file.write_text("\n".join(choose.choices(PATTERNS, k=lines)) + "\n")
        assert sorted(_walked(repository)) == _listed(repository), [file.read_text() for file in files]
        for file in files:
            file.unlink()


def _listed(repository: Path) -> list[str]:
    command = ["git", "-C", str(repository), "-c", "core.excludesFile=/dev/null", "ls-files", "-z", "-o"]
    done = subprocess.run([*command, "--exclude-standard"], capture_output=True, text=True, check=True)
    return sorted(path for path in done.stdout.split("\0") if path.endswith(".py"))


def _walked(top: Path) -> list[str]:
    ignored = GitIgnore(top)
    found: list[str] = []
    pending = [top]
    while pending:
        for entry in pending.pop().iterdir():
            if entry.name == ".git" or ignored.ignores(entry, entry.is_dir()):
                continue
            if entry.is_dir():
                pending.append(entry)
            elif entry.name.endswith(".py"):
                found.append(entry.relative_to(top).as_posix())
    return found


def names(*paths: str) -> list[str]:
    return [shown for _, shown in discover(paths).files]


def test_folders_are_walked_without_what_git_ignores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("m.py", "gen/g.py", "pkg/p.py", "pkg/tmp_1.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("m.py\n")
    (tmp_path / ".gitignore").write_text("gen/*\ntmp_*\n")
    monkeypatch.chdir(tmp_path)
    assert names(".") == ["pkg/p.py"]
    assert names("pkg", "pkg/tmp_1.py", "gen/g.py") == ["pkg/p.py", "pkg/tmp_1.py", "gen/g.py"]
    # Named on purpose, so the file above it has no say.
    (tmp_path / ".gitignore").write_text("gen\n")
    assert names("gen") == ["gen/g.py"]
