"""Report files are written whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from graphdoctor.report.write import problem, write


def test_writes_and_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    write(str(file), "one\n")
    write(str(file), "two é\n")
    assert file.read_bytes() == "two é\n".encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and links")
def test_keeps_the_mode_and_the_link(tmp_path: Path) -> None:
    file, link = tmp_path / "real.txt", tmp_path / "link.txt"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write(str(link), "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX umask")
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write(str(tmp_path / "new"), "")
    assert (tmp_path / "new").stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="no /dev/null")
def test_a_device_stays_a_device() -> None:
    write("/dev/null", "text")
    assert not Path("/dev/null").is_file()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    file.write_text("old")
    (tmp_path / f".report.txt.{os.getpid()}.tmp").mkdir()
    with pytest.raises(OSError):
        write(str(file), "new")
    assert file.read_text() == "old"


def test_dash_is_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    write("-", "text")
    assert capsys.readouterr().out == "text"


def test_unpaired_surrogates_are_written_as_escapes(tmp_path: Path) -> None:
    write(str(tmp_path / "f"), "a\udc80b")
    assert (tmp_path / "f").read_text(encoding="utf-8") == "a\\udc80b"


def test_problems_are_known_before(tmp_path: Path) -> None:
    assert problem(str(tmp_path / "new.html")) is None
    assert problem(str(tmp_path)) == f"{tmp_path} is a directory"
    assert problem(str(tmp_path / "no" / "new.html")) == f"the folder {tmp_path / 'no'} does not exist"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    reason = problem(str(tmp_path / "new.html"))
    tmp_path.chmod(0o700)
    assert reason is not None
    assert reason.endswith("permission denied")
