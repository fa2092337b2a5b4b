from pathlib import Path

import pytest

from graphdoctor.breaks.locations import Places, code_at, function_at, own_folders, project_of, without_site

PLACES = Places(
    root="/home/me/project",
    own=("/home/me/project",),
    torch="/env/lib/python3.11/site-packages/torch",
    library=("/env/lib/python3.11",),
    tool="/env/lib/python3.11/site-packages/graphdoctor/dynamic",
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/project/model.py", "own"),
        ("/home/me/project2/model.py", "own"),
        ("/home/me/project/.venv/lib/python3.11/site-packages/timm/a.py", "third-party"),
        ("/env/lib/python3.11/site-packages/transformers/a.py", "third-party"),
        ("/env/lib/python3.11/site-packages/torch/nn/functional.py", "torch"),
        ("/env/lib/python3.11/copy.py", "library"),
        ("<frozen importlib._bootstrap>", "torch"),
        ("<eval_with_key>.3", "torch"),
        ("<string>", "library"),
        ("<stdin>", "own"),
        ("<ipython-input-1-abc>", "own"),
    ],
)
def test_owner_of_a_path(path: str, kind: str) -> None:
    assert PLACES.kind(path) == kind


def test_what_pip_installed_into_any_folder_is_third_party(tmp_path: Path) -> None:
    (tmp_path / "libs" / "timm-1.0.dist-info").mkdir(parents=True)
    assert PLACES.kind(str(tmp_path / "libs" / "timm" / "layers" / "a.py")) == "third-party"
    assert PLACES.kind(str(tmp_path / "mine" / "a.py")) == "own"


def test_paths_are_shown_relative_to_the_root() -> None:
    assert PLACES.show("/home/me/project/pkg/model.py") == "pkg/model.py"
    assert PLACES.show("/elsewhere/model.py") == "/elsewhere/model.py"


def test_a_path_for_a_reader_names_no_folder_of_the_machine() -> None:
    assert without_site("/env/lib/python3.11/site-packages/yaml/reader.py") == "yaml/reader.py"
    assert without_site("/home/ann/.pyenv/versions/3.11.7/lib/python3.11/contextlib.py") == "contextlib.py"
    assert without_site("src/lib/python3/model.py") == "src/lib/python3/model.py"


def test_project_of_a_packaged_file(tmp_path: Path) -> None:
    package = tmp_path / "outer" / "inner"
    package.mkdir(parents=True)
    (tmp_path / "outer" / "__init__.py").touch()
    (package / "__init__.py").touch()
    project = project_of(package / "model.py")
    assert (project.module, project.root, project.package) == ("outer.inner.model", tmp_path, "outer.inner")
    assert project_of(package / "__init__.py").module == "outer.inner"
    assert project_of(tmp_path / "script.py").module == "script"


def test_an_installed_package_that_is_scanned_is_own() -> None:
    file = Path("/env/lib/python3.11/site-packages/single.py")
    assert own_folders(file, Path("/home/me")) == (str(file),)


def test_functions_are_named_by_class_and_function() -> None:
    text = "class Net:\n  def forward(self):\n    def inner():\n      return 1\n    return inner\n\nx = 1\n"
    assert function_at(text, 2) == "Net.forward"
    assert function_at(text, 4) == "Net.forward.inner"
    assert function_at(text, 7) is None
    assert function_at("not python (", 1) is None


def test_the_text_of_a_function_is_that_of_the_innermost() -> None:
    text = "def f():\n  a = 1\n  def g():\n    return a\n  return g\n\nx = 1\n"
    assert code_at(text, 4) == "  def g():\n    return a"
    assert code_at(text, 5) == text.rpartition("\n\n")[0]
    assert code_at(text, 7) == ""
