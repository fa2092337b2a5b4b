"""Where the packages of a project are looked for, and which file is run by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.source.module_files import import_roots, is_installed, is_script, project_home


@pytest.mark.parametrize(
    ("top", "places"), [("lib", ["", "src"]), ("scripts", ["", "src"]), ("json", []), ("accelerate", []), ("", [])]
)
def test_packages_are_looked_for_from_the_top_of_the_project(tmp_path: Path, top: str, places: list[str]) -> None:
    """Not those of Python, nor those that the rules know by name, which a script in their own repository imports."""
    (tmp_path / "setup.cfg").write_text("")
    folder = tmp_path / "scripts"
    folder.mkdir()
    home = project_home(folder)
    assert home == tmp_path
    assert import_roots(folder, top, home) == tuple(tmp_path / place for place in places)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from lib.net import Net\n", True),
        ("import lib\nimport json\n", True),
        ("from .lib import Net\n", False),
        ("import missing\n", False),
        ("from lib import Net\nfrom clone.other import more\n", False),
    ],
)
def test_a_file_that_imports_what_lies_beside_it_is_a_script(tmp_path: Path, text: str, found: bool) -> None:
    clone = tmp_path / "clone"
    (clone / "lib").mkdir(parents=True)
    for name in ("__init__.py", "other.py", "lib/net.py"):
        (clone / name).write_text("")
    assert is_script(text, clone / "run.py") is found
    (clone / "__init__.py").unlink()
    assert not is_script(text, clone / "run.py")


def test_a_folder_with_metadata_of_packages_holds_installed_ones(tmp_path: Path) -> None:
    assert not is_installed(tmp_path)
    (tmp_path / "lib-1.0.dist-info").mkdir()
    assert is_installed(tmp_path)
