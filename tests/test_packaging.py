"""The package as a user installs it: a virtual environment of its own, no extras, no torch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

PRINTS = (
    "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        print(x)\n        return x\n"
)


def scan(bin_: Path, *arguments: str | Path, cwd: Path, marker: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if marker:
        env["GRAPHDOCTOR_TEST_MARKER"] = str(marker)
    command = [bin_ / "graphdoctor", "scan", "--no-run", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)


def test_torch_is_not_installed(installed: Path) -> None:
    done = subprocess.run([installed / "python", "-c", "import torch"], capture_output=True, text=True)
    assert "No module named 'torch'" in done.stderr


def test_only_graphdoctor_is_put_into_site_packages(installed: Path) -> None:
    listing = [str(installed / "python"), "-m", "pip", "show", "--files", "graphdoctor"]
    done = subprocess.run(listing, capture_output=True, text=True, check=True)
    files = [line.strip() for line in done.stdout.partition("Files:")[2].splitlines() if line.strip()]
    assert {file.split("/")[0].split("-")[0] for file in files if not file.startswith("..")} == {"graphdoctor"}
    assert "graphdoctor/py.typed" in files
    assert any(file.startswith("graphdoctor/rules/") for file in files)
    assert any(file.startswith("graphdoctor/report/html/templates/") for file in files)
    assert any(file.startswith("graphdoctor/site/templates/") for file in files)


def test_the_fixtures_are_scanned_without_torch_and_never_run(installed: Path, root: Path, tmp_path: Path) -> None:
    marker = tmp_path / "imported"
    done = scan(installed, "fixtures/", "--output-format", "json", cwd=root, marker=marker)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["verdict"] == "static-only"
    assert report["dynamic"] is None
    found = {finding["path"] for finding in report["findings"]}
    assert {"fixtures/demo/model.py", "fixtures/hostile/leaves_a_marker.py"} <= found
    assert not marker.exists()


def test_the_marker_file_would_have_been_written(root: Path, tmp_path: Path) -> None:
    """A check of the check: importing the file does create the marker."""
    marker = tmp_path / "imported"
    code = "import runpy, sys; runpy.run_path(sys.argv[1])"
    file = root / "fixtures" / "hostile" / "leaves_a_marker.py"
    env = {**os.environ, "GRAPHDOCTOR_TEST_MARKER": str(marker)}
    subprocess.run([sys.executable, "-c", code, str(file)], env=env, check=True)
    assert marker.exists()


def test_a_file_with_a_sample_is_not_run_without_torch(installed: Path, root: Path) -> None:
    command = [str(installed / "graphdoctor"), "scan", "fixtures/demo/model.py"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 1
    [note] = [line for line in done.stdout.splitlines() if "torch is not installed" in line]
    assert "graphdoctor[torch]" in note


def test_a_graph_break_is_explained_without_torch(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "graphdoctor"), "explain", "GB0347"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("GB0347  autograd.Function.apply: _materialize_non_diff_grads mutation\n")


@pytest.fixture(scope="module")
def thousand(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of 995 files with one break each, and the 5 broken ones."""
    folder = tmp_path_factory.mktemp("thousand")
    for number in range(995):
        (folder / f"model_{number:03}.py").write_text(PRINTS)
    broken = folder / "broken"
    shutil.copytree(root / "fixtures" / "broken", broken, ignore=shutil.ignore_patterns("__pycache__"))
    (broken / "empty.py").unlink()  # an empty file is valid Python
    return folder


def test_five_broken_files_of_a_thousand_cost_themselves_only(installed: Path, thousand: Path) -> None:
    done = scan(installed, ".", "--output-format", "json", cwd=thousand)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    failed = [file for file in report["files"] if file["status"] == "failed"]
    assert len(report["files"]) == 1000
    assert {Path(file["path"]).parts[0] for file in failed} == {"broken"} and len(failed) == 5
    assert all(file["reason"] and "\n" not in file["reason"] for file in failed)
    assert [finding["rule"] for finding in report["findings"]] == ["GD101"] * 995


def test_each_broken_file_has_one_line_in_the_text(installed: Path, thousand: Path) -> None:
    done = scan(installed, "broken", "model_000.py", cwd=thousand)
    for file in (thousand / "broken").glob("*.py"):
        assert len([line for line in done.stdout.splitlines() if file.name in line]) == 1, file.name


def test_a_missing_path_is_a_usage_error(installed: Path, tmp_path: Path) -> None:
    done = scan(installed, "no_such_file.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "no_such_file.py" in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr


def imported(arguments: list[str], root: Path) -> set[str]:
    """The modules that a command imports, in this environment, where torch is installed."""
    command = [sys.executable, "-X", "importtime", "-m", "graphdoctor", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_a_static_scan_imports_no_torch_where_it_is_installed(root: Path) -> None:
    modules = imported(["scan", "--no-run", "--no-cache", "fixtures/demo"], root)
    assert "libcst" in modules
    assert "torch" not in modules


def test_explain_imports_no_torch_where_it_is_installed(root: Path) -> None:
    modules = imported(["explain", "GB0170"], root)
    assert "graphdoctor.breaks.registry" in modules
    assert "torch" not in modules


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_imports_neither_torch_nor_libcst_nor_jinja2(root: Path, option: str) -> None:
    modules = imported([option], root)
    assert ("click" in modules) == (option == "--help")
    assert modules & {"torch", "libcst", "jinja2"} == set()


def test_the_sdist_holds_every_file_of_the_repository(root: Path, clone: Path, tmp_path: Path) -> None:
    """So that its tests run where it is unpacked."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    tool = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path), "setuptools>=77"]
    subprocess.run(tool, check=True)
    build = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=clone, env=env, check=True, stdout=subprocess.DEVNULL
    )
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        held = {member.name.partition("/")[2] for member in tar.getmembers()}
    assert set(listed.stdout.splitlines()) - held == set()
