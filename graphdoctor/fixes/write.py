"""Writing a changed file: all of it or nothing, with the encoding, permissions and links it had."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import read


def write(file: Path, before: str, after: str) -> None:
    """Put ``after`` where ``file`` has ``before``; a symbolic link stays one and its target changes.

    Raises SourceError, one line for the user, when the file changed in the meantime or cannot be written.
    """
    target = Path(os.path.realpath(file))
    text, encoding = read(target)
    if text != before:
        raise SourceError("changed while it was scanned, so it was not written")
    try:
        data = after.encode(encoding)
        mode = target.stat().st_mode
        # Replacing a file takes no permission on it, and root needs none at all; the user marked it all the same.
        if not mode & 0o222:
            raise SourceError("is read-only, so it was not written")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except (OSError, UnicodeEncodeError) as error:
        raise SourceError(f"cannot be written: {error}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise SourceError(f"cannot be written: {error.strerror}") from None
