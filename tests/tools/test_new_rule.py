"""The scaffold of a rule, written into a copy of the tree; there its examples run as those of every rule."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PARTS = ("graphdoctor", "rules", "tools", "tests/rules", "benchmarks/rule_versions")
FILES = ("setup.cfg", "tests/conftest.py", "ruff.toml")


@pytest.fixture(scope="module")
def copy(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tool and the tests of the examples need of the tree."""
    folder = tmp_path_factory.mktemp("copy")
    for part in PARTS:
        shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(root / file, folder / file)
    return folder


def new_rule(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.new_rule", *arguments]
    return subprocess.run(command, cwd=copy, capture_output=True, text=True)


@pytest.fixture(scope="module")
def written(copy: Path) -> Path:
    done = new_rule(copy, "GD598", "sudden-end")
    assert done.returncode == 0, done.stderr
    assert "-k sudden-end" in done.stdout
    return copy / "rules" / "sudden_end.py"


def test_its_examples_pass_unchanged(copy: Path, written: Path) -> None:
    pytest.importorskip("torch")
    selected = ["tests/rules/test_examples.py", "-k", "sudden-end"]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *selected]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert " 8 passed" in done.stdout


def test_it_is_clean_for_the_linter(copy: Path, written: Path) -> None:
    pytest.importorskip("ruff")
    for check in (["check"], ["format", "--check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *check, "--no-cache", str(written)], cwd=copy)
        assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("GD101", "something-new"), "GD101 is taken by print-in-graph"),
        (("GD599", "print-in-graph"), "print-in-graph is the name of GD101"),
        (("GD599", "print_in_graph"), "print-in-graph is the name of GD101"),
        (("GD599", "_shared"), "is no name"),
        (("GD598", "another"), "GD598 is taken by sudden-end"),
        (("gd599", "another"), "'gd599' is no code"),
        (("GD599", "../another"), "is no name"),
        (("GD599",), "usage: "),
    ],
)
def test_what_exists_or_is_no_rule_is_refused_in_one_line(
    copy: Path, written: Path, arguments: tuple[str, ...], said: str
) -> None:
    before = sorted((copy / "rules").iterdir())
    done = new_rule(copy, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert [file for file in sorted((copy / "rules").iterdir()) if file.suffix == ".py"] == [
        file for file in before if file.suffix == ".py"
    ]


def test_a_file_of_another_rule_is_never_overwritten(copy: Path, written: Path) -> None:
    # A rule may have another name than its file.
    other = written.with_name("left_over.py")
    other.write_text(written.read_text().replace("sudden-end", "other-name").replace("GD598", "GD597"))
    try:
        done = new_rule(copy, "GD596", "left-over")
        assert done.returncode == 2 and "rules/left_over.py exists" in done.stderr
        assert "GD597" in other.read_text()
    finally:
        other.unlink()
