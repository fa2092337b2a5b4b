"""The version of the installed torch, found without importing it."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from graphdoctor.target_torch.installed import torch_available


def test_it_is_the_version_that_the_metadata_has() -> None:
    assert (torch_available() or "").partition("+")[0] == metadata.version("torch").partition("+")[0]


def stub(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> None:
    """A package ``torch`` with these modules, found before any other."""
    (folder / "torch").mkdir()
    for name, text in files.items():
        (folder / "torch" / f"{name}.py").write_text(text)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(str(folder))


def test_the_package_that_would_be_imported_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(tmp_path, monkeypatch, __init__="", version="debug = False\n__version__ = '2.99.0.dev1+cpu'\n")
    assert torch_available() == "2.99.0.dev1+cpu"


def test_a_package_without_a_version_has_that_of_its_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(tmp_path, monkeypatch, __init__="")
    assert torch_available() == metadata.version("torch")


def test_without_torch_there_is_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert torch_available() is None
