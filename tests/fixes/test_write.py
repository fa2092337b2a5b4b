"""Files on disk: all or nothing, and otherwise as they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphdoctor.fixes.write import write
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import read


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfx = 1\r\ny = 2",
        "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"),
        "x = 'é'\n\tu = 1\n".encode(),
    ],
)
def test_bytes_elsewhere_stay(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "m.py"
    file.write_bytes(data)
    before, _ = read(file)
    write(file, before, before.replace("x", "z"))
    assert file.read_bytes() == data.replace(b"x", b"z")


def test_mode_and_link_stay_and_no_other_file_is_left(tmp_path: Path) -> None:
    target = tmp_path / "real.py"
    target.write_text("x = 1\n")
    target.chmod(0o755)
    link = tmp_path / "link.py"
    link.symlink_to(target)
    write(link, "x = 1\n", "x = 2\n")
    assert link.is_symlink() and target.read_text() == "x = 2\n"
    assert target.stat().st_mode & 0o777 == 0o755
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.py", "real.py"]


def test_a_file_that_changed_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("x = 9\n")
    with pytest.raises(SourceError, match="changed while it was scanned"):
        write(file, "x = 1\n", "x = 2\n")
    assert file.read_text() == "x = 9\n"


def test_text_that_the_encoding_lacks_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("# -*- coding: ascii -*-\n")
    with pytest.raises(SourceError, match="cannot be written"):
        write(file, "# -*- coding: ascii -*-\n", "é")
    assert os.listdir(tmp_path) == ["m.py"]


def test_a_folder_in_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        write(tmp_path, "", "x")
    assert os.listdir(tmp_path) == []
