"""The hooks of .pre-commit-hooks.yaml, run by a real pre-commit from a real checkout of this tree.

The hook environment is made once for the module; making it is what takes the time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pre_commit")

CLEAN = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"
PRINTS = CLEAN.replace("        return", "        print(x.shape)\n        return")
GUARDED = CLEAN.replace(
    "        return", "        if not torch.compiler.is_compiling():\n            print(x.shape)\n        return"
)
CALLS = "from helper import show\n" + CLEAN.replace("        return", "        show(x)\n        return")
BRANCHES = "from helper import big\n" + CLEAN.replace(
    "        return", "        if big(x):\n            x = -x\n        return"
)
HELPER = "def show(t):\n    print(t.shape)\n\n\ndef big(t):\n    return t.sum() > 0\n"


def git(folder: Path, *arguments: str) -> str:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *names, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Project:
    """A git repository that uses the hooks."""

    def __init__(self, folder: Path, home: Path, hooks: Path, revision: str) -> None:
        self.folder = folder
        self._env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._env["PRE_COMMIT_HOME"] = str(home)
        git(folder, "init", "-q")
        (folder / ".pre-commit-config.yaml").write_text(
            f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n"
            "  - id: graphdoctor\n  - id: graphdoctor-fix\n    stages: [manual]\n"
        )

    def commit(self, **files: str) -> None:
        """Commit files without a look at the hooks: what is there before the change under test."""
        self.stage(**files)
        git(self.folder, "commit", "-q", "-m", "before", "--no-verify")

    def stage(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text)
        git(self.folder, "add", "-A")

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """``pre-commit run`` on what is staged."""
        command = [sys.executable, "-m", "pre_commit", "run", "--color=never", *options]
        return subprocess.run(command, cwd=self.folder, env=self._env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def hooks(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A git repository that holds this tree as it is now, and its only commit."""
    folder = tmp_path_factory.mktemp("hooks")
    listed = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    for name in filter(None, listed):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A", "--force")
    git(folder, "commit", "-q", "-m", "tree")
    return folder, git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps its environments: one for the whole module."""
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture
def project(tmp_path: Path, home: Path, hooks: tuple[Path, str]) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder, home, *hooks)


def test_clean_code_passes_and_a_break_fails(project: Project) -> None:
    project.stage(model=CLEAN)
    done = project.run()
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout
    project.stage(model=PRINTS)
    done = project.run()
    assert done.returncode == 1
    assert "model.py:6:9: error GD101" in done.stdout


def test_the_environment_holds_no_torch(project: Project, home: Path) -> None:
    project.stage(model=CLEAN)
    assert project.run().returncode == 0
    [packages] = home.glob("repo*/py_env-*/lib/python*/site-packages")
    installed = {path.name.partition("-")[0].lower() for path in packages.glob("*.dist-info")}
    assert {"graphdoctor", "libcst", "click"} <= installed
    assert not {"torch", "numpy", "triton", "pygls"} & installed


def test_the_fix_hook_writes_the_file_and_passes_the_second_time(project: Project) -> None:
    project.stage(model=PRINTS)
    done = project.run("--hook-stage", "manual", "graphdoctor-fix")
    assert done.returncode == 1 and "files were modified by this hook" in done.stdout
    assert (project.folder / "model.py").read_text() == GUARDED
    project.stage()
    assert project.run("--hook-stage", "manual").returncode == 0


def test_a_changed_file_is_judged_with_helpers_that_did_not_change(project: Project) -> None:
    project.commit(helper=HELPER)
    project.stage(model=BRANCHES)
    done = project.run()
    assert done.returncode == 1
    assert "model.py:7:12: error GD201" in done.stdout


def test_files_that_are_not_part_of_the_commit_are_neither_reported_nor_changed(project: Project) -> None:
    project.commit(helper=HELPER)
    project.stage(model=CALLS)
    # In this stage both hooks run.
    assert project.run("--hook-stage", "manual").returncode == 0
    assert (project.folder / "helper.py").read_text() == HELPER


def test_notebooks(project: Project) -> None:
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source.splitlines(True)}
        for source in ("%matplotlib inline\nimport torch", PRINTS.partition("\n\n\n")[2])
    ]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    (project.folder / "demo.ipynb").write_text(notebook)
    project.stage()
    done = project.run()
    assert done.returncode == 1
    assert "demo.ipynb:cell 2:3:9: error GD101" in done.stdout
    assert project.run("--hook-stage", "manual", "graphdoctor-fix").returncode == 1
    cells[1]["source"] = GUARDED.partition("\n\n\n")[2].splitlines(True)
    after = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    assert (project.folder / "demo.ipynb").read_text() == after
    project.stage()
    assert project.run("--hook-stage", "manual").returncode == 0
