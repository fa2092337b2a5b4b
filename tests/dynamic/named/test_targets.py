"""What a name stands for, before anything is run."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from graphdoctor.dynamic.named import sources
from graphdoctor.dynamic.named.targets import NoSuchTarget, in_file, is_named, named_target


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "nets.py").write_text(
        "raise RuntimeError('nothing is imported')\nclass Net: ...\ndef make(): ...\n"
    )
    (tmp_path / "plain.py").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", ["model.py", "a/b:c", "C:\\models\\net.py", "C:/net.py", "hf:", "-", "a b:c"])
def test_paths_are_no_names(text: str) -> None:
    assert not is_named(text)


def test_file_with_a_colon_is_a_file(here: Path) -> None:
    (here / "hf:Odd").touch()
    assert is_named("hf:Even") and not is_named("hf:Odd")


def test_function_of_a_module_is_called_in_the_worker(here: Path) -> None:
    found = named_target("shop.nets:Net.small")
    assert found.file == here / "shop" / "nets.py"
    assert "from shop.nets import Net as _found" in found.sample
    assert "of_name(_found.small, 'shop.nets:Net.small', inputs=False)" in found.sample


def test_name_in_a_file(here: Path) -> None:
    assert in_file("plain.py:Net") == ("plain.py", "Net")
    assert in_file("shop/nets.py:Net.small") == ("shop/nets.py", "Net.small")
    assert in_file("plain.py") is in_file("gone.py:Net") is in_file("plain.py:12") is None


def test_a_call_of_a_name(here: Path) -> None:
    assert in_file("plain.py:Net(4, path='a.py:B')") == ("plain.py", "Net(4, path='a.py:B')")
    assert is_named("shop.nets:make(3)") and not is_named("shop.nets:make(3")
    found = named_target("shop.nets:make(3)")
    assert found.file == here / "shop" / "nets.py"
    assert "of_call(_module, 'make(3)', inputs=False)" in found.sample


def test_a_package_is_read_once_for_many_names_until_it_changes(here: Path) -> None:
    first = sources.definitions(here, "plain.py", "class")
    assert sources.definitions(here, "plain.py", "class") is first and not first
    (here / "plain.py").write_text("class Net(Base): ...\n")
    os.utime(here, (1, 1))
    assert list(sources.definitions(here, "plain.py", "class")) == ["Net"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("shop.netz:make", "shop.netz:make: no module named shop.netz here"),
        ("shop.nets:mak", "shop.nets:mak: the module has nothing of this name; did you mean 'make'?"),
        ("netz.py:make", "netz.py:make: no such file or folder"),
        ("sys:exit", "sys:exit: no module named sys here"),
        ("hf:BertModle", "hf:BertModle: nothing of this name is installed; did you mean 'BertModel'?"),
    ],
)
def test_wrong_names_are_one_line(here: Path, text: str, line: str) -> None:
    if text.startswith("hf:"):
        pytest.importorskip("transformers")
    with pytest.raises(NoSuchTarget) as told:
        named_target(text)
    assert str(told.value).startswith(line) and "\n" not in str(told.value)


def test_package_that_is_missing_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(NoSuchTarget, match=r"^timm: needs timm, which is not installed here"):
        named_target("timm:resnet18")


def test_other_packages_add_names(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "zoo.py").write_text(
        "from pathlib import Path\nfrom graphdoctor.dynamic.named.targets import NamedTarget\n"
        "def provide(name):\n    return NamedTarget(Path(__file__), f'# {name}')\n"
    )
    metadata = here / "zoo-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: zoo\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[graphdoctor.targets]\nzoo = zoo:provide\n")
    monkeypatch.syspath_prepend(here)
    importlib.invalidate_caches()
    assert named_target("zoo:lion").sample == "# lion"
