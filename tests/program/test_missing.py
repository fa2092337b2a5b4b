"""What is said of the modules that a program lacked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphdoctor.program.missing import lacking
from graphdoctor.recorder.settings import MISSING


@pytest.mark.parametrize(
    ("searched", "expected"),
    [
        ("tools", "'own', 'parts' are in the working folder: set PYTHONPATH=.; install what provides `gd_no_a`"),
        (".", "'own.net' is not in {}/own, which Python found for `own`; install what provides `gd_no_a`"),
    ],
)
def test_modules_of_the_working_folder_are_not_to_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searched: str, expected: str
) -> None:
    """A script in a subfolder does not find them; where the working folder is searched, its package lacks the module."""
    monkeypatch.chdir(tmp_path)
    for name in ("own/__init__.py", "parts/layers.py", "tools/train.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("import own.net, parts.layers, gd_no_a\n" if name.startswith("tools") else "")
    note = {"name": "own.net", "file": str(tmp_path / "tools/train.py"), "path": [str(tmp_path / searched)]}
    (tmp_path / MISSING.format(1)).write_text(json.dumps(note))
    assert lacking(tmp_path).partition("; ")[2] == f"{expected.format(tmp_path)} where graphdoctor is installed"
