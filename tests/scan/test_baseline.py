"""What a change adds: a git repository with a base and a head commit, compared by two reports and by ``--diff-base``."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from graphdoctor import cli

BASE = {
    "src/net.py": """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        print("moves", x.shape)
        if x.sum() > 0:
            x = x + 1
        return x
""",
    "src/tail.py": """\
from torch import nn


class Tail(nn.Module):
    def forward(self, x):
        scale = x.max().item()
        return x * scale
""",
}
#: The print has moved down and to another function, the item() is gone, the file of the Tail has another name, and
#: there is a second print.
HEAD = {
    "src/net.py": """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        x = self.report(x)
        if x.sum() > 0:
            x = x + 1
        return x

    def report(self, x):
        y = x * 2
        print("moves", x.shape)
        print("new", y.shape)
        return y
""",
    "src/head.py": BASE["src/tail.py"].replace("x.max().item()", "x.max()"),
}


def git(folder: Path, *arguments: str) -> str:
    """Git without the settings of the user."""
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    name = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", "-C", str(folder), *name, *arguments],
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def commit(folder: Path, files: dict[str, str]) -> None:
    """The work tree holds exactly ``files``, and so does a new commit."""
    for old in folder.glob("src/*.py"):
        old.unlink()
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a commit")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository at its head commit, with the report of the base in base.json; the current folder."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text("*.json\n")
    monkeypatch.chdir(tmp_path)
    commit(tmp_path, BASE)
    assert invoke("scan", "src", "--report", "json=base.json").exit_code == 1
    commit(tmp_path, HEAD)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, arguments)


def report(*arguments: str) -> dict[str, Any]:
    """The JSON of a scan or a comparison."""
    result = invoke(*arguments, "--output-format", "json")
    assert result.exit_code in (0, 1), result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def by_reports(*options: str) -> dict[str, Any]:
    invoke("scan", "src", "--report", "json=head.json")
    return report("compare", "base.json", "head.json", *options)


def by_baseline(*options: str) -> dict[str, Any]:
    return report("scan", "src", "--baseline", "base.json", *options)


def by_commit(*options: str) -> dict[str, Any]:
    return report("scan", "src", "--diff-base", "HEAD~1", *options)


WAYS = pytest.mark.parametrize("way", [by_reports, by_baseline, by_commit])


@WAYS
def test_one_new_one_fixed_and_the_moved_one_is_neither(repository: Path, way: Callable[..., dict[str, Any]]) -> None:
    data = way()
    compared = data["comparison"]
    new = [f for f in data["findings"] if f["fingerprint"] in compared["new"]]
    assert [(f["path"], f["line"], f["rule"]) for f in new] == [("src/net.py", 15, "GD101")]
    assert [(f["path"].partition("/")[0], f["rule"]) for f in compared["fixed"]] == [("src", "GD211")]
    assert len(compared["unchanged"]) == 2
    assert compared["not_compared"] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "base.json", "head.json"),
        ("scan", "src", "--baseline", "base.json"),
        ("scan", "src", "--diff-base", "HEAD~1"),
    ],
)
def test_the_gate_fails_for_the_new_break_and_for_no_other(repository: Path, arguments: tuple[str, ...]) -> None:
    invoke("scan", "src", "--report", "json=head.json")
    failing = invoke(*arguments)
    assert failing.exit_code == 1
    assert "graphdoctor: failed: 1 new error\n" in failing.stderr
    assert invoke(*arguments, "--fail-on", "any").exit_code == 1
    assert invoke(*arguments, "--fail-on", "none").exit_code == 0
    assert invoke(*arguments, "--max-breaks", "3", "--fail-on", "none").exit_code == 0
    assert invoke(*arguments, "--max-breaks", "2", "--fail-on", "none").exit_code == 1
    file = repository / "src" / "net.py"
    file.write_text(HEAD["src/net.py"].replace('        print("new", y.shape)\n', ""))
    invoke("scan", "src", "--report", "json=head.json")
    assert invoke(*arguments).exit_code == 0
    assert invoke(*arguments, "--fail-on", "any").exit_code == 1


def test_the_work_tree_and_the_index_stay_as_they_are(repository: Path) -> None:
    (repository / "src" / "net.py").write_text(HEAD["src/net.py"] + "\n")
    (repository / "src" / "untracked.py").write_text("x = 1\n")
    before = (git(repository, "status", "--porcelain"), (repository / ".git" / "index").read_bytes())
    index = repository / ".git" / "index"
    times = (index.stat().st_mtime_ns, (repository / "src" / "net.py").stat().st_mtime_ns)
    by_commit()
    assert times == (index.stat().st_mtime_ns, (repository / "src" / "net.py").stat().st_mtime_ns)
    assert before == (git(repository, "status", "--porcelain"), index.read_bytes())


def test_from_a_folder_of_the_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "src")
    compared = report("scan", ".", "--diff-base", "HEAD~1")["comparison"]
    assert (len(compared["new"]), len(compared["fixed"]), len(compared["unchanged"])) == (1, 1, 2)
    alone = report("scan", "net.py", "--no-run", "--diff-base", "HEAD~1")["comparison"]
    assert (len(alone["new"]), len(alone["fixed"]), len(alone["unchanged"])) == (1, 0, 2)


def test_a_file_that_the_base_does_not_have_is_new_as_a_whole(repository: Path) -> None:
    (repository / "src" / "added.py").write_text(BASE["src/tail.py"].replace("Tail", "Added").replace("max", "min"))
    assert len(report("scan", "src/added.py", "--diff-base", "HEAD")["comparison"]["new"]) == 1


def test_a_file_that_moved_without_git_is_not_new(repository: Path) -> None:
    (repository / "src" / "deep").mkdir()
    (repository / "src" / "net.py").rename(repository / "src" / "deep" / "net2.py")
    compared = report("scan", "src", "--diff-base", "HEAD")["comparison"]
    assert (compared["new"], compared["fixed"], len(compared["unchanged"])) == ([], [], 3)


def test_what_is_left_out_of_the_scan_is_not_fixed(repository: Path) -> None:
    commit(repository, BASE)
    compared = report("scan", "src/tail.py", "--no-run", "--baseline", "base.json")["comparison"]
    assert (compared["fixed"], len(compared["unchanged"]), compared["not_compared"]) == ([], 1, 2)


def test_the_base_of_a_branch_is_where_it_left(repository: Path) -> None:
    """What the other branch mended since is not counted as new here."""
    git(repository, "branch", "work")
    commit(repository, {"src/net.py": "import torch\n"})
    git(repository, "checkout", "--quiet", "work")
    assert report("scan", "src", "--diff-base", "main")["comparison"]["new"] == []


def test_settings_hold_for_the_base_too(repository: Path) -> None:
    compared = report("scan", "src", "--diff-base", "HEAD~1", "--per-file-ignores", "src/head.py:GD211")["comparison"]
    assert compared["fixed"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scan", "src", "--diff-base", "nowhere"), "--diff-base: 'nowhere' names no commit here; `git fetch` it"),
        (("scan", "src", "--diff-base", "--help"), "names no commit here"),
        (("scan", "src", "--baseline", "none.json"), "none.json: no such file; `graphdoctor scan --report json="),
        (("scan", "src", "--baseline", "src/net.py"), "src/net.py: is not JSON"),
        (("scan", "src", "--baseline", "a", "--diff-base", "b"), "--baseline and --diff-base both name a base"),
        (("scan", "-", "--diff-base", "HEAD"), "and not the standard input"),
        (("compare", "base.json", "src"), "src: cannot be read: a folder and no regular file"),
    ],
)
def test_a_base_that_is_none_is_one_line_and_exit_2(repository: Path, arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_outside_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    result = invoke("scan", "a.py", "--diff-base", "main")
    assert result.exit_code == 2
    assert "not a git repository" in result.stderr


def test_allowed_findings_pass_until_their_day(repository: Path) -> None:
    entry = '[[tool.graphdoctor.allow]]\nrule = "GD101"\npath = "src/*.py"\nreason = "demo"\nexpires = {}\n'
    (repository / "pyproject.toml").write_text(entry.format("2999-01-31"))
    assert invoke("scan", "src", "--diff-base", "HEAD~1").exit_code == 0
    data = by_commit()
    assert {f["allowed"] for f in data["findings"] if f["rule"] == "GD101"} == {"demo (until 2999-01-31)"}
    assert invoke("scan", "src", "--max-breaks", "1").exit_code == 0
    (repository / "pyproject.toml").write_text(entry.format("2001-01-31"))
    failing = invoke("scan", "src", "--diff-base", "HEAD~1")
    assert failing.exit_code == 1
    assert "GD101 in src/*.py (demo) expired on 2001-01-31 and allows nothing any more" in " ".join(
        failing.output.split()
    )


def test_a_report_elsewhere_on_the_machine_is_called_by_its_name(repository: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    invoke("scan", "src", "--no-run", "--output-format", "json", "--output", str(file))
    assert report("scan", "src", "--no-run", "--baseline", str(file))["comparison"]["base"] == "kept.json"
