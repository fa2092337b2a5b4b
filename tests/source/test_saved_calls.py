"""The script of a saved call is read from its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.program import samples
from graphdoctor.source.saved_calls import script_of


@pytest.mark.parametrize("name", ["train.py", "../scripts/it's.py"])
def test_the_script_is_the_one_that_was_written(tmp_path: Path, name: str) -> None:
    program = {"main": str(tmp_path / name), "folder": str(tmp_path)}
    text = samples._text(tmp_path / "first_call.py", "Net", {}, program)
    assert script_of(tmp_path / "first_call.py", text) == (tmp_path / name).resolve()


@pytest.mark.parametrize(
    "text",
    [
        "from graphdoctor.recorder.saved_call import load\nload(HERE / 'a.pt')\n",
        "from graphdoctor.recorder.saved_call import load\nload(\n",
        "load(HERE / 'a.pt', script=HERE / 'train.py')\n",
    ],
)
def test_other_files_have_none(tmp_path: Path, text: str) -> None:
    assert script_of(tmp_path / "first_call.py", text) is None
