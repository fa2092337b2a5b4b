"""Rules that a project's settings name run only where the user allows it, and one line says where they did not."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphdoctor import api, cli
from graphdoctor.config.permission import NOT_RUN, VARIABLE
from graphdoctor.config.project import load

MODEL = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        print(x)
        return x.relu()  # noqa: ACME7
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a rule that leaves a file when it is executed."""
    folder = tmp_path / "project"
    (folder / "lint").mkdir(parents=True)
    (folder / "lint" / "rule.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()")
    (folder / "m.py").write_text(MODEL)
    (folder / "pyproject.toml").write_text("[tool.graphdoctor]\nrules = ['lint']\nextend-ignore = ['ACME9']\n")
    monkeypatch.chdir(folder)
    monkeypatch.delenv(VARIABLE, raising=False)
    return folder


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, arguments)


def was_executed(project: Path) -> bool:
    return (project.parent / "executed").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("scan", "m.py"),
        ("scan", ".", "--output-format", "json"),
        ("scan", ".", "--output-format", "markdown"),
        ("scan", ".", "--output-format", "html"),
        ("scan", ".", "--output-format", "sarif"),
        ("scan", ".", "--output-format", "github"),
        ("scan", ".", "--statistics"),
        ("scan", ".", "--diff"),
        ("scan", ".", "--config", "pyproject.toml"),
        ("scan", "--fix", "m.py"),
        ("fix", "m.py"),
        ("fix", "m.py", "--diff"),
        ("explain", "GD101"),
        ("rules",),
        ("rules", "--output-format", "json"),
    ],
)
def test_one_line_says_that_they_were_not_run(project: Path, arguments: tuple[str, ...]) -> None:
    result = invoke(*arguments)
    assert not was_executed(project)
    # A text report folds long lines.
    said = " ".join((result.stdout + result.stderr).split())
    assert said.count(NOT_RUN) == 1
    _, _, said = said.partition(NOT_RUN)
    assert "lint" in said and "--allow-project-rules" in said and "pyproject.toml" in said


def test_what_else_is_found_is_complete(project: Path) -> None:
    def found(**options: bool) -> list[str]:
        return [f.rule for f in api.scan(api.ScanOptions(("m.py",), run=False, **options)).findings]

    # The codes of rules that were not run are known nowhere, and named in settings and comments all the same.
    assert found() == found(isolated=True) == ["GD101"]


@pytest.mark.parametrize("arguments", [("--allow-project-rules",), ("--rules", "lint"), ("--config", "rules=['lint']")])
def test_the_command_line_allows_them(project: Path, arguments: tuple[str, ...]) -> None:
    assert NOT_RUN not in invoke("scan", "m.py", *arguments).output
    assert was_executed(project)


def test_rules_of_the_command_line_take_the_place_of_those_in_the_settings(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (project / "pyproject.toml").write_text("[tool.graphdoctor]\nrules = ['lint']\n")
    result = invoke("scan", "m.py", "--rules", "../other", "--output-format", "json")
    assert not was_executed(project)
    assert NOT_RUN not in json.dumps(json.loads(result.stdout)["notes"])
    assert load(project).refused_rules == (project / "lint",)


def test_the_environment_trusts_folders_by_their_full_path(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    for value in ("", ".", str(tmp_path), f"{project}x", str(project / "lint"), "1"):
        monkeypatch.setenv(VARIABLE, value)
        assert load(project).rules == (), value
    for value in (str(project), f"/nowhere{os.pathsep}{project}", str(link)):
        monkeypatch.setenv(VARIABLE, value)
        assert load(project).rules == (project / "lint",) and load(project).refused_rules == ()
    assert invoke("rules").exit_code == 0 and was_executed(project)


def test_another_project_in_a_trusted_one_is_not_meant(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "vendored").mkdir()
    (project / "vendored" / "setup.cfg").write_text("[graphdoctor]\nrules = ../lint\n")
    monkeypatch.setenv(VARIABLE, str(project))
    assert load(project / "vendored").rules == ()


def test_what_is_kept_of_a_scan_without_them_is_not_recalled_with_them(project: Path, tmp_path: Path) -> None:
    rule = Path(__file__).parents[2] / "fixtures" / "own_rules" / "tools" / "graphdoctor_rules" / "device_move.py"
    (project / "lint" / "rule.py").write_text(rule.read_text())
    (project / "m.py").write_text(MODEL.replace("x.relu()  # noqa: ACME7", "x.cpu()"))
    (project / "pyproject.toml").write_text("[tool.graphdoctor]\nrules = ['lint']\n")
    asked = api.ScanOptions(("m.py",), run=False, cache=tmp_path / "cache")
    for _ in range(2):
        assert [f.rule for f in api.scan(asked).findings] == ["GD101"]
        allowed = replace(asked, allow_project_rules=True)
        assert sorted(f.rule for f in api.scan(allowed).findings) == ["ACME1", "GD101"]
