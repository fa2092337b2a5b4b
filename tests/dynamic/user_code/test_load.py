import importlib.machinery
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphdoctor.dynamic.user_code.load import install_overlay, load, source_of


@pytest.fixture(autouse=True)
def clean_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(importlib.machinery.SourceFileLoader, "get_code", importlib.machinery.SourceFileLoader.get_code)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_script_sees_its_neighbours_and_is_not_main(tmp_path: Path) -> None:
    (tmp_path / "gd_neighbour.py").write_text("value = 7\n")
    (tmp_path / "gd_script.py").write_text(
        "from gd_neighbour import value\nran = False\nif __name__ == '__main__':\n    ran = True\n"
    )
    module = load(tmp_path / "gd_script.py")
    assert (module.__name__, module.value, module.ran) == ("gd_script", 7, False)


def test_a_packaged_file_has_its_full_name(tmp_path: Path) -> None:
    package = tmp_path / "gd_package" / "models"
    package.mkdir(parents=True)
    (tmp_path / "gd_package" / "__init__.py").write_text("top = 1\n")
    (package / "__init__.py").write_text("")
    (package / "layers.py").write_text("width = 3\n")
    (package / "net.py").write_text(
        "from .layers import width\nfrom .. import top\nfrom gd_package.models import layers\n"
    )
    module = load(package / "net.py")
    assert (module.__name__, module.width, module.top) == ("gd_package.models.net", 3, 1)


def test_relative_imports_without_an_init_file(tmp_path: Path) -> None:
    folder = tmp_path / "gd_namespace"
    folder.mkdir()
    (folder / "layers.py").write_text("width = 3\n")
    (folder / "net.py").write_text("from .layers import width\n")
    assert load(folder / "net.py").width == 3


def test_a_script_sees_the_packages_of_its_project(tmp_path: Path) -> None:
    for place, name in (("", "gd_beside"), ("src/", "gd_below")):
        (tmp_path / place / name).mkdir(parents=True)
        (tmp_path / place / name / "part.py").write_text(f"value = {name!r}\n")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "gd_script.py"
    script.write_text("from gd_beside.part import value as one\nfrom gd_below.part import value as other\n")
    module = load(script)
    assert (module.one, module.other) == ("gd_beside", "gd_below")


def test_a_script_beside_a_package_of_the_same_name_finds_it(tmp_path: Path) -> None:
    clone = tmp_path / "gd_clone"
    (clone / "gd_clone").mkdir(parents=True)
    (clone / "__init__.py").write_text("")
    (clone / "gd_clone" / "__init__.py").write_text("value = 7\n")
    (clone / "gd_script.py").write_text("from gd_clone import value\n")
    assert load(clone / "gd_script.py").value == 7


def test_a_file_named_like_a_known_module_does_not_replace_it(tmp_path: Path) -> None:
    (tmp_path / "types.py").write_text("mine = True\n")
    assert load(tmp_path / "types.py").mine
    assert not hasattr(sys.modules["types"], "mine")


def test_overlay_is_run_and_shown_in_place_of_the_file(tmp_path: Path) -> None:
    helper, main = tmp_path / "gd_helper.py", tmp_path / "gd_main.py"
    helper.write_text("def f():\n    return 1\n")
    main.write_text("from gd_helper import f\nvalue = f()\n")
    install_overlay({str(helper): "# patched\ndef f():\n    return 2\n"})
    module = load(main)
    assert module.value == 2
    assert "return 2" in inspect.getsource(module.f)
    assert module.f.__code__.co_firstlineno == 2
    assert source_of(str(helper)).startswith("# patched")
    assert helper.read_text() == "def f():\n    return 1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gd_helper.py", "gd_main.py"]


def test_errors_of_the_file_come_through(tmp_path: Path) -> None:
    (tmp_path / "gd_bad.py").write_text("raise RuntimeError('boom')\n")
    with pytest.raises(RuntimeError, match="boom"):
        load(tmp_path / "gd_bad.py")
