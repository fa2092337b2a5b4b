"""Report files: checked before the scan, written as a whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def problem(path: str) -> str | None:
    """Why ``path`` cannot be written, in one line; None when it can."""
    file = Path(path)
    if file.is_dir():
        return f"{path} is a directory"
    parent = file.parent
    if not parent.is_dir():
        return f"the folder {parent} does not exist"
    if not os.access(file if file.exists() else parent, os.W_OK):
        return f"{path} cannot be written: permission denied"
    return None


def write(path: str, text: str) -> None:
    """Write ``text`` as UTF-8; a reader sees the old file or the new one, never a part. ``-`` is stdout.

    What is not a regular file (``/dev/null``, a pipe) is written in place. Raises OSError.
    """
    if path == "-":
        sys.stdout.write(text)
        return
    # A link stays a link: its target is replaced.
    file = Path(os.path.realpath(path))
    data = text.encode("utf-8", "backslashreplace")
    if file.exists() and not file.is_file():
        file.write_bytes(data)
        return
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        if file.exists():
            temporary.chmod(file.stat().st_mode & 0o7777)
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
