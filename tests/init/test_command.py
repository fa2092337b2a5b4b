"""``graphdoctor init``: shown first, written on a yes, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

FILES = ("pyproject.toml", ".pre-commit-config.yaml", ".github/workflows/graphdoctor.yml")


def init(folder: Path, *options: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphdoctor", "init", "--repo", "https://github.com/acme/graphdoctor", *options]
    return subprocess.run(command, cwd=folder, input=answer, capture_output=True, text=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_nothing_is_written_without_a_yes(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    for answer in ("", "n\n"):
        done = init(tmp_path, answer=answer)
        assert done.returncode == 2 and done.stderr.endswith("graphdoctor: nothing was written\n")
        assert [line for line in done.stdout.splitlines() if line.startswith("+++")] == [f"+++ b/{p}" for p in FILES]
    assert contents(tmp_path) == {"pyproject.toml": b""}


def test_a_yes_writes_what_was_shown_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    done = init(tmp_path, "--rev", "v9", answer="y\n")
    assert done.returncode == 0, done.stderr
    written = contents(tmp_path)
    assert sorted(written) == sorted(FILES)
    shown = [line[1:] for line in done.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
    lines = [line for path in FILES for line in written[path].decode().splitlines()]
    assert shown == [line for line in lines if line not in ("[project]", "name = 'x'")]
    workflow = yaml.safe_load(written[FILES[2]])
    assert workflow["jobs"]["graph-breaks"]["steps"][1]["uses"] == "acme/graphdoctor@v9"

    again = init(tmp_path, "--yes")
    assert again.returncode == 0 and again.stdout == ""
    assert again.stderr.endswith("graphdoctor: nothing to write\n")
    assert contents(tmp_path) == written


def test_a_workflow_of_another_name_that_uses_graphdoctor_stays(tmp_path: Path) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "ci.yaml").write_text("on: push\njobs: {a: {steps: [{run: graphdoctor scan .}]}}\n")
    done = init(tmp_path, "--yes")
    assert done.returncode == 0 and "graphdoctor: .github/workflows/ci.yaml is there" in done.stderr
    assert [file.name for file in folder.iterdir()] == ["ci.yaml"]


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("a file, not a folder")
    done = init(tmp_path, "--yes")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "graphdoctor: .github/workflows/graphdoctor.yml cannot be read: Not a directory"
    )
    assert "Traceback" not in done.stderr


def test_links_that_lead_elsewhere_are_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "x.toml").write_text("[project]\nname = 'x'\n")
    (folder / ".github").symlink_to(outside)
    before = contents(outside)
    for link in (folder / "pyproject.toml", folder / ".pre-commit-config.yaml"):
        link.symlink_to(outside / "x.toml" if link.suffix == ".toml" else outside / "new.yaml")
        done = init(folder, "--yes")
        assert done.returncode == 2 and f"leads by a link to {outside}" in done.stderr, done.stderr
        link.unlink()
    assert [file.name for file in folder.iterdir()] == [".github"]
    assert init(folder, "--yes").returncode == 2
    assert contents(outside) == before
