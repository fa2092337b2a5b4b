"""Writing a changed file: all of it or nothing, with the encoding, permissions and owner it had.

Only what the user gave is written. The code may hold links that lead elsewhere, or put one in the way meanwhile, so the
folder of the file is opened step by step without following any, and what is done there is done in the opened folder.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import decode, decode_as, is_notebook
from graphdoctor.syntax.parse_check import check

#: Windows cannot open a folder and work in it.
CAN_WRITE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
#: A pipe is not waited for, and a link not followed.
_READ = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
#: Where the system can, a folder is opened to be passed through only, which takes no permission to list it.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_CLOEXEC", 0)
#: Said of a file outside of what may be written.
NOT_GIVEN = "was not given, so it was not written"


def places(paths: Sequence[str]) -> tuple[Path, ...]:
    """What fixes may be written to: ``paths``, files and folders, with the links above them followed.

    A path that is itself a link is left as one, below which nothing lies.
    """
    absolute = [Path(os.path.abspath(path)) for path in paths]
    return tuple(Path(os.path.realpath(path.parent)) / path.name for path in absolute)


def project_of(file: Path) -> Path:
    """The folder of the project of ``file``, whose helpers are fixed with it when it is given alone.

    The repository around it; else its package, which links of the project may lead out of.
    """
    file = Path(os.path.realpath(file))
    repository = next((folder for folder in file.parents if (folder / ".git").exists()), None)
    top = file.parent
    while (top / "__init__.py").is_file() and (top.parent / "__init__.py").is_file():
        top = top.parent
    return repository or top


def write(file: Path, before: str, after: str, allowed: Sequence[Path]) -> None:
    """Put ``after`` where ``file`` has ``before``; a symbolic link stays one and its target changes.

    Nothing is written outside of ``allowed``, files and folders as ``places`` gives them. Another name of the file (a
    hard link) keeps what it has.

    Raises SourceError, one line for the user, when the file changed in the meantime or cannot be written, and when it
    would be no Python any more, which is a mistake of a fix.
    """
    if not CAN_WRITE:
        raise SourceError("is written on Linux and macOS only; --diff gives the fixes as a patch")
    if _is_python(before) and not _is_python(after):
        raise SourceError("would be no valid Python with these fixes, so it was not written; please report this")
    target = Path(os.path.realpath(file))
    place = next((place for place in allowed if target.is_relative_to(place)), None)
    if place is None and target == Path(os.path.abspath(file)):
        raise SourceError(NOT_GIVEN)
    if place is None:
        raise SourceError(f"leads by a link to {target}, which was not given, so it was not written")
    base = place if target != place else place.parent
    try:
        with _folder(base, target.parent.relative_to(base).parts) as folder:
            _replace(folder, target.name, before, after)
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SourceError(f"cannot be written: {reason}") from None


def _is_python(text: str) -> bool:
    try:
        check(text)
    except SourceError:
        return False
    return True


@contextlib.contextmanager
def _folder(base: Path, names: Sequence[str]) -> Iterator[int]:
    """The folder ``names`` below ``base``, opened without following a link. Raises OSError."""
    folder = os.open(base, _FOLDER)
    try:
        for name in names:
            below = os.open(name, _FOLDER | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def _replace(folder: int, name: str, before: str, after: str) -> None:
    """Replace the file ``name`` of an opened folder. Raises SourceError, OSError, UnicodeEncodeError."""
    handle = os.open(name, _READ, dir_fd=folder)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise SourceError("is no regular file, so it was not written")
        with open(handle, "rb", closefd=False) as stream:
            data = stream.read()
            text, encoding = decode_as(Path(name), data)
    finally:
        os.close(handle)
    if text != before:
        raise SourceError("changed while it was scanned, so it was not written")
    # Replacing a file takes no permission on it, and root needs none at all; the user marked it all the same.
    if not state.st_mode & 0o222:
        raise SourceError("is read-only, so it was not written")
    if is_notebook(name):
        from graphdoctor.source.notebook import Notebook

        after = Notebook(decode(data)[0]).changed(after)
    data = after.encode(encoding)
    temporary = f".graphdoctor-{secrets.token_hex(8)}"
    with open(os.open(temporary, _NEW, 0o600, dir_fd=folder), "wb") as stream:
        try:
            stream.write(data)
            stream.flush()
            _take_over(stream.fileno(), state)
            os.fsync(stream.fileno())
            now = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if (now.st_ino, now.st_dev, now.st_mtime_ns) != (state.st_ino, state.st_dev, state.st_mtime_ns):
                raise SourceError("changed while it was scanned, so it was not written")
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def _take_over(handle: int, state: os.stat_result) -> None:
    """Give an opened file the owner and the mode of another. Raises SourceError."""
    made = os.fstat(handle)
    if (made.st_uid, made.st_gid) != (state.st_uid, state.st_gid):
        try:
            os.fchown(handle, state.st_uid, state.st_gid)
        except PermissionError:
            raise SourceError("belongs to another user or group, so it was not written") from None
    # A change of the owner clears some bits of the mode, so this comes after it.
    os.fchmod(handle, stat.S_IMODE(state.st_mode))
