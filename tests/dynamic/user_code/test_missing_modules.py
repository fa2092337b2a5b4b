"""Python stops at the first module that it does not find; the report names all."""

import sys
from pathlib import Path

import pytest

from graphdoctor.dynamic.user_code.missing_modules import also_missing, missing_modules


def project(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "gd_train.py"


def test_all_that_the_file_and_its_neighbours_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = project(
        tmp_path,
        {
            "gd_train.py": (
                "import json, gd_no_a.sub\nfrom gd_data import load\nfrom gd_pkg.net import Net\nimport gd_no_e\n"
            ),
            "gd_data.py": "from gd_no_b import read\nimport gd_no_a\n",
            "gd_pkg/net.py": "from . import layers\nfrom .deep.block import Block\n",
            "gd_pkg/layers.py": "import gd_no_c as c\n",
            "gd_pkg/deep/block.py": "import gd_no_d\n",
        },
    )
    assert set(missing_modules(file)) == {f"gd_no_{letter}" for letter in "abcde"}
    assert missing_modules(file)[0] == "gd_no_a"


def test_what_need_not_be_there_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = project(
        tmp_path,
        {
            "gd_train.py": (
                "from typing import TYPE_CHECKING\nimport torch.nn, email.mime\n"
                "try:\n    import gd_no_a\nexcept ImportError:\n    gd_no_a = None\n"
                "if TYPE_CHECKING:\n    import gd_no_b\n"
                "def plot():\n    import gd_no_c\n"
                "from gd_data import load\n"
            ),
            "gd_data.py": "def load(:\n",
        },
    )
    assert missing_modules(file) == ()


def test_installed_packages_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib" / "gd_other-1.0.dist-info").mkdir(parents=True)
    (tmp_path / "lib" / "gd_other.py").write_text("import gd_no_a\n")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    assert missing_modules(project(tmp_path / "code", {"gd_train.py": "import gd_other\n"})) == ()


def test_the_packages_of_the_file_run_first(tmp_path: Path) -> None:
    file = project(tmp_path / "gd_package", {"__init__.py": "import gd_no_a\n", "gd_train.py": "import gd_no_b\n"})
    assert missing_modules(file) == ("gd_no_a", "gd_no_b")


def test_the_error_goes_on_with_the_others(tmp_path: Path) -> None:
    file = project(tmp_path, {"gd_train.py": "import gd_no_a, gd_no_b\nimport gd_no_c\n"})
    error = ModuleNotFoundError("No module named 'gd_no_a'", name="gd_no_a")
    assert also_missing(error, file) == ", 'gd_no_b', 'gd_no_c'"
    assert also_missing(ValueError("gd_no_a"), file) == ""
    assert not [name for name in sys.modules if name.startswith("gd_no")]
