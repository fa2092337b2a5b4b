"""The import contract in setup.cfg, as `make lint` checks it."""

from __future__ import annotations

import ast
import configparser
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

CHECK = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(config_filename='setup.cfg', no_cache=True))"


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    """What the check says of the code in ``folder``."""
    return subprocess.run([sys.executable, "-c", CHECK], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    for name in ("graphdoctor", "rules"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "setup.cfg", tmp_path)
    return tmp_path


def test_every_package_is_in_the_contract(root: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg")
    layers = setup["importlinter:contract:layers"]["layers"]
    packages = {folder.parent.name for folder in (root / "graphdoctor").glob("*/__init__.py")}
    assert {name for name in packages if f"graphdoctor.{name}" not in layers.replace("|", " ").split()} == set()


@pytest.mark.parametrize(
    "file, line",
    [
        ("graphdoctor/static/domain/values.py", "from graphdoctor.fixes.core import editor"),
        ("graphdoctor/model/findings.py", "from graphdoctor.report import wording"),
        ("graphdoctor/fixes/core/apply.py", "from graphdoctor.scan import options"),
        ("graphdoctor/report/wording.py", "import torch"),
    ],
)
def test_an_import_against_the_contract_is_found(copy: Path, file: str, line: str) -> None:
    with (copy / file).open("a") as out:
        out.write(f"\n{line}\n")
    done = checked(copy)
    module = file.removesuffix(".py").replace("/", ".")
    assert done.returncode == 1 and f"{module} -> " in done.stdout, done.stdout + done.stderr


def test_every_package_and_its_data_are_installed(root: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg")
    folders = {".".join(file.parent.relative_to(root).parts) for file in root.glob("graphdoctor/**/__init__.py")}
    assert set(setup["options"]["packages"].split()) == folders | {"graphdoctor.rules"}
    data = setup["options.package_data"]
    installed = {
        file
        for name in data
        for pattern in data[name].replace(",", " ").split()
        for file in (root / name.replace(".", "/")).glob(pattern)
    }
    there = {file for file in (root / "graphdoctor").rglob("*") if file.is_file()}
    assert {file for file in there if file.suffix not in (".py", ".pyc")} - installed == set()


def test_folders_stay_small(root: Path) -> None:
    """At most 20 files in a folder beside its subfolders."""
    files = [file for file in (root / "graphdoctor").rglob("*") if file.is_file() and file.suffix != ".pyc"]
    sizes = Counter(str(file.parent.relative_to(root)) for file in files)
    assert len(sizes) > 50
    assert {folder: size for folder, size in sizes.items() if size > 20} == {}


def code_lines(file: Path) -> int:
    """The lines of a file but those of its tables and examples: what a name of the module is bound to."""
    text = file.read_text(encoding="utf-8")
    tables = [node for node in ast.parse(text).body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    return len(text.splitlines()) - sum((node.end_lineno or node.lineno) - node.lineno for node in tables)


def test_files_stay_short(root: Path) -> None:
    """At most 400 lines in a file but tables and examples."""
    folders = ("graphdoctor", "rules", "tests", "tools", "benchmarks")
    files = [file for name in folders for file in (root / name).rglob("*.py")]
    assert len(files) > 500
    # Of most files all lines together are fewer; only the others are parsed.
    long = [file for file in files if len(file.read_text(encoding="utf-8").splitlines()) > 400]
    assert {str(file.relative_to(root)): size for file in long if (size := code_lines(file)) > 400} == {}
