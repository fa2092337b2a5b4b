"""Which files are scanned, and under which names."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from graphdoctor.source.discover import PathNotFound, discover
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import read
from graphdoctor.source.path_patterns import PathPattern


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.py", "a.py", "pkg/m.py", "pkg/notes.txt", ".hidden/h.py", "venv/pyvenv.cfg", "venv/v.py",
                 "__pycache__/c.py", "node_modules/n.py", "build/x.py", "gen/g.py",
                 "wandb/run-1/files/code/b.py", "wandb/offline-run-2/b.py"):  # fmt: skip
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [shown for _, shown in discover(paths, [PathPattern(text, Path.cwd()) for text in exclude]).files]


def test_folders_are_walked_in_order_without_hidden_and_built_ones(tree: Path) -> None:
    assert names(".") == ["a.py", "b.py", "gen/g.py", "pkg/m.py"]


def test_other_folders_with_the_names_of_logged_runs_are_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("wandb/sdk.py", "runs/run-1/m.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    assert names(".") == ["runs/run-1/m.py", "wandb/sdk.py"]


def test_files_given_by_name_are_always_taken_once(tree: Path) -> None:
    assert names("venv/v.py", ".hidden/h.py", "a.py", "./a.py") == ["venv/v.py", ".hidden/h.py", "a.py"]
    assert names("pkg", "pkg/m.py", "pkg/notes.txt") == ["pkg/m.py", "pkg/notes.txt"]
    assert names("venv") == ["venv/v.py"]


@pytest.mark.parametrize("pattern", ["gen", "gen/", "gen/*", "g.py", "gen/g.py"])
def test_exclude(tree: Path, pattern: str) -> None:
    assert names(".", exclude=(pattern,)) == ["a.py", "b.py", "pkg/m.py"]
    assert names("gen/g.py", exclude=(pattern,)) == ["gen/g.py"]


def test_link_loops_end(tree: Path) -> None:
    (tree / "pkg" / "again").symlink_to(tree, target_is_directory=True)
    (tree / "broken.py").symlink_to(tree / "nowhere.py")
    assert names(".") == ["a.py", "b.py", "gen/g.py", "pkg/m.py"]


def test_outside_the_working_folder_the_common_folder_is_the_root(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "gen")
    found = discover([str(tree / "pkg" / "m.py")])
    assert found.files == ((tree / "pkg" / "m.py", "m.py"),) and found.root == tree / "pkg"
    found = discover([str(tree / "pkg"), str(tree / "a.py")])
    assert [shown for _, shown in found.files] == ["pkg/m.py", "a.py"] and found.root == tree


def test_missing_paths_are_named(tree: Path) -> None:
    with pytest.raises(PathNotFound, match=r"^nowhere\.py: no such file or folder$"):
        discover(["a.py", "nowhere.py"])


def test_a_file_under_two_names_is_taken_once(tree: Path) -> None:
    (tree / "again.py").symlink_to(tree / "a.py")
    assert names("again.py", "a.py", "b.py") == ["again.py", "b.py"]
    assert names(".").count("a.py") + names(".").count("again.py") == 1


def test_what_is_there_without_a_link_is_named_so(tree: Path) -> None:
    """A patch, an annotation or a comparison with another commit would not find the file behind the link."""
    (tree / "about").mkdir()
    (tree / "about" / "pkg").symlink_to(tree / "pkg", target_is_directory=True)
    outside = tree.parent / "outside"
    (outside / "more").mkdir(parents=True)
    (outside / "o.py").write_text("")
    (outside / "more" / "back").symlink_to(tree, target_is_directory=True)
    (tree / "about" / "linked").symlink_to(outside, target_is_directory=True)
    assert names(".") == ["a.py", "b.py", "gen/g.py", "pkg/m.py", "about/linked/o.py"]


def test_a_folder_that_may_not_be_listed_is_a_file_that_cannot_be_read(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may list all of them."""
    scandir = os.scandir

    def refuse(path: str | Path) -> object:
        if Path(path).name == "gen":
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names(".") == ["a.py", "b.py", "gen", "pkg/m.py"]
    with pytest.raises(SourceError, match="Permission denied"):
        read(Path("gen"))


def test_a_folder_without_python_files_is_named(tree: Path) -> None:
    (tree / "empty").mkdir()
    with pytest.raises(PathNotFound, match=r"^empty: no Python files there"):
        discover(["empty"])
    assert names("empty", "a.py") == ["a.py"]
