"""Reading files that are not trusted: only regular ones, and not more than a stated number of bytes.

All readers of files that the user names or that lie in a scanned project come here: a pipe or a device would be waited
for, or read, for ever.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import tokenize
from pathlib import Path
from typing import BinaryIO

from graphdoctor.source.errors import SourceError

#: Bytes of a file that people write: source text, settings, lists.
SOURCE_LIMIT = 10 << 20
#: Bytes of a file that graphdoctor wrote: a JSON report, an entry of the cache.
REPORT_LIMIT = 256 << 20

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_CHUNK = 1 << 20


def open_regular(file: Path | str) -> BinaryIO:
    """``file`` opened for reading, unbuffered. Raises OSError, also where it is no regular file."""
    try:
        # Before it is opened, because opening a device may have effects; a pipe that takes its place meanwhile does
        # not block, and is refused below.
        state = os.stat(file)
        if stat.S_ISDIR(state.st_mode):
            # A folder that may not be listed says so.
            os.scandir(file).close()
        _refuse_special(state)
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError:
        raise OSError(errno.EINVAL, "its name holds a null byte") from None
    try:
        _refuse_special(os.fstat(handle))
        return io.FileIO(handle, "rb")
    except OSError:
        os.close(handle)
        raise


def read_bytes(file: Path | str, limit: int = SOURCE_LIMIT) -> bytes:
    """What ``file`` holds. Raises OSError, also where it is no regular file or has more than ``limit`` bytes."""
    with open_regular(file) as stream:
        return bounded(stream, limit)


def bounded(stream: BinaryIO, limit: int = SOURCE_LIMIT) -> bytes:
    """What is left in ``stream``. Raises OSError where that is more than ``limit`` bytes, without reading on."""
    parts, size = [], 0
    while part := stream.read(min(_CHUNK, limit + 1 - size)):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise OSError(errno.EFBIG, f"more than {limit >> 20} MiB, which is not read; leave it out, or split it")
    return b"".join(parts)


def _refuse_special(state: os.stat_result) -> None:
    if not stat.S_ISREG(state.st_mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(state.st_mode)), "something else")
        raise OSError(errno.EINVAL, f"{kind} and no regular file; give a file")


def is_file(path: Path | str) -> bool:
    """Whether ``path`` is a regular file or a link to one; False too where that cannot be found out."""
    # Path.is_file raises where a folder may not be entered or a name is too long.
    return os.path.isfile(path)


def read(file: Path) -> tuple[str, str]:
    """The text of ``file`` and its encoding (PEP 263); of a notebook the module that its cells make together.

    Raises SourceError with one line for the user.
    """
    try:
        # Notebooks hold their outputs too.
        data = read_bytes(file, REPORT_LIMIT if is_notebook(file) else SOURCE_LIMIT)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}") from None
    return decode_as(file, data)


def decode_as(file: Path, data: bytes) -> tuple[str, str]:
    """The text that ``read`` would give, were ``data`` in ``file``. Raises SourceError."""
    text, encoding = decode(data)
    if is_notebook(file):
        # Parsers that most scans do without.
        from graphdoctor.source.notebook import Notebook

        return Notebook(text).text, encoding
    return text, encoding


def is_notebook(file: Path | str) -> bool:
    """Whether the file is a notebook by its name."""
    return str(file).lower().endswith(".ipynb")


def decode(data: bytes) -> tuple[str, str]:
    """The text of a source file's bytes and its encoding (PEP 263). Raises SourceError."""
    if b"\0" in data:
        raise SourceError("contains null bytes, so it is not Python source")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), encoding
    except (SyntaxError, UnicodeError, LookupError) as error:
        reason = str(error).splitlines()[0]
        raise SourceError(f"cannot be decoded: {reason}") from None


def text_of(file: Path) -> str:
    """The text of ``file``; empty when it cannot be read or decoded."""
    try:
        return read(file)[0]
    except SourceError:
        return ""
