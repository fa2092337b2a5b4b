"""Options and settings are resolved once, into the plan."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, UsageError
from graphdoctor.scan.plan import plan_for

SETTINGS = "[tool.graphdoctor]\nmode = 'train'\ntimeout = 7\nignore = ['GD1']\nexclude = ['old.py']\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "net.py").write_text("def graphdoctor_target():\n    return abs, (1,)\n")
    (tmp_path / "old.py").touch()
    monkeypatch.chdir(tmp_path)


def test_options_come_before_settings(project: None) -> None:
    pytest.importorskip("torch")
    plan = plan_for(ScanOptions(("net.py",), mode="eval", fix=True, deep=True))
    assert plan.run.request is not None
    assert (plan.run.request.mode, plan.run.request.timeout, plan.run.request.deep) == ("eval", 7.0, True)
    assert not plan.selection.enables("GD101", "print-in-graph", "net.py")
    assert plan.verify is not None and plan.verify.each
    assert plan.write is not None and plan.compare is None


def test_a_step_that_is_not_wanted_is_none(project: None) -> None:
    plan = plan_for(ScanOptions((".",), verify=False))
    assert [path for _, path in plan.inputs.discovery.files] == ["net.py"]
    assert plan.run.request is None and "only a file that is given alone is run" in plan.run.problem
    assert (plan.verify, plan.write, plan.compare, plan.static.cache) == (None, None, None, None)


def test_what_is_wrong_is_known_before_a_file_is_read(project: None) -> None:
    with pytest.raises(UsageError, match="use one of the two"):
        plan_for(ScanOptions((".",), baseline="base.json", diff_base="HEAD"))


def test_nothing_behind_the_plan_knows_options_or_settings(root: Path) -> None:
    scan = root / "graphdoctor" / "scan"
    behind = [scan / "pipeline.py", scan / "session.py", *sorted((scan / "steps").glob("*.py"))]
    names = {
        (file.name, alias.name)
        for file in behind
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert ("run.py", "run_request") in names
    assert {(file, name) for file, name in names if name in ("ScanOptions", "Config", "settings_for")} == set()
