"""Files on disk: all or nothing, and otherwise as they were."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from graphdoctor.fixes.core.write import places, project_of, write
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
    write(file, before, before.replace("x", "z"), [tmp_path])
    assert file.read_bytes() == data.replace(b"x", b"z")


def test_mode_and_link_stay_and_no_other_file_is_left(tmp_path: Path) -> None:
    target = tmp_path / "real.py"
    target.write_text("x = 1\n")
    target.chmod(0o755)
    link = tmp_path / "link.py"
    link.symlink_to(target)
    write(link, "x = 1\n", "x = 2\n", [tmp_path])
    assert link.is_symlink() and target.read_text() == "x = 2\n"
    assert target.stat().st_mode & 0o777 == 0o755
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.py", "real.py"]


def test_what_would_be_no_python_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("x = 1\n")
    with pytest.raises(SourceError, match="would be no valid Python with these fixes, so it was not written"):
        write(file, "x = 1\n", "x = (1\n", [tmp_path])
    assert file.read_text() == "x = 1\n"


def test_a_file_that_changed_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("x = 9\n")
    with pytest.raises(SourceError, match="changed while it was scanned"):
        write(file, "x = 1\n", "x = 2\n", [tmp_path])
    assert file.read_text() == "x = 9\n"


def test_text_that_the_encoding_lacks_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("# -*- coding: ascii -*-\n")
    with pytest.raises(SourceError, match="cannot be written"):
        write(file, "# -*- coding: ascii -*-\n", "é", [tmp_path])
    assert os.listdir(tmp_path) == ["m.py"]


def test_a_folder_in_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "m.py").mkdir()
    with pytest.raises(SourceError, match="no regular file"):
        write(tmp_path / "m.py", "", "x", [tmp_path])
    (tmp_path / "m.py").rmdir()
    assert os.listdir(tmp_path) == []


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.py")
    with pytest.raises(SourceError, match="no regular file"):
        write(tmp_path / "m.py", "", "x", [tmp_path])


def test_a_link_that_leads_out_is_not_written_through(tmp_path: Path) -> None:
    given, outside = tmp_path / "given", tmp_path / "outside"
    given.mkdir()
    outside.mkdir()
    (outside / "m.py").write_text("x = 1\n")
    (given / "m.py").symlink_to(outside / "m.py")
    (given / "folder").symlink_to(outside)
    for path in (given / "m.py", given / "folder" / "m.py"):
        with pytest.raises(SourceError, match=f"leads by a link to {outside}/m.py, which was not given"):
            write(path, "x = 1\n", "x = 2\n", places([str(given)]))
    for path in (given / "m.py", given / "folder"):
        with pytest.raises(SourceError, match="leads by a link"):
            write(given / "m.py", "x = 1\n", "x = 2\n", places([str(path)]))
    assert (outside / "m.py").read_text() == "x = 1\n"
    write(given / "m.py", "x = 1\n", "x = 2\n", places([str(given), str(outside)]))
    assert (outside / "m.py").read_text() == "x = 2\n"


def test_links_above_what_is_given_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real" / "given").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    file = tmp_path / "link" / "given" / "m.py"
    file.write_text("x = 1\n")
    for path in (file, file.parent):
        write(file, file.read_text(), "x = 2\n", places([str(path)]))
    assert file.read_text() == "x = 2\n"


@pytest.mark.parametrize("swapped", ["m.py", "folder"])
def test_a_link_put_there_meanwhile_is_not_followed(
    tmp_path: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, outside = tmp_path / "given", tmp_path / "outside"
    for folder in (given / "folder", outside):
        folder.mkdir(parents=True)
        (folder / "m.py").write_text("x = 1\n")
    file = given / "folder" / "m.py"
    real = os.path.realpath

    def swap(path: os.PathLike[str]) -> str:
        found = real(path)
        if Path(path) == file:
            file.unlink()
            if swapped == "folder":
                file.parent.rmdir()
                file.parent.symlink_to(outside)
            else:
                file.symlink_to(outside / "m.py")
        return found

    allowed = places([str(given)])
    monkeypatch.setattr(os.path, "realpath", swap)
    with pytest.raises(SourceError, match="cannot be written"):
        write(file, "x = 1\n", "x = 2\n", allowed)
    assert (outside / "m.py").read_text() == "x = 1\n"
    assert os.listdir(outside) == ["m.py"]


def test_another_name_of_the_file_keeps_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "other.py").write_text("x = 1\n")
    os.link(tmp_path / "other.py", tmp_path / "given" / "m.py")
    write(tmp_path / "given" / "m.py", "x = 1\n", "x = 2\n", [tmp_path / "given"])
    assert (tmp_path / "other.py").read_text() == "x = 1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("x = 1\n")
    os.chown(file, 1234, 1235)
    file.chmod(0o2750)
    write(file, "x = 1\n", "x = 2\n", [tmp_path])
    state = file.stat()
    assert (state.st_uid, state.st_gid, state.st_mode & 0o7777) == (1234, 1235, 0o2750)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_an_owner_that_cannot_be_kept() -> None:
    """Of a user who may write into the folder of somebody else's file."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "m.py"
        file.write_text("x = 1\n")
        file.chmod(0o666)
        Path(name).chmod(0o777)
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(1235)
            os.setuid(1234)
            try:
                write(file, "x = 1\n", "x = 2\n", [file.parent])
            except SourceError as error:
                os._exit(0 if str(error) == "belongs to another user or group, so it was not written" else 3)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert os.listdir(name) == ["m.py"] and file.read_text() == "x = 1\n"


def test_the_project_of_a_file(tmp_path: Path) -> None:
    package = tmp_path / "clone" / "package" / "sub"
    package.mkdir(parents=True)
    for folder in (package, package.parent, tmp_path / "clone"):
        (folder / "__init__.py").write_text("")
    assert project_of(package / "m.py") == tmp_path / "clone"
    assert project_of(tmp_path / "m.py") == tmp_path
    (package.parent / ".git").mkdir()
    assert project_of(package / "m.py") == package.parent
