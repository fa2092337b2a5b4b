"""Where the installed torch is and its version, found without importing it: its build writes ``torch/version.py``."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

_VERSION = re.compile(r"""^__version__ = ['"]([^'"]+)['"]""", re.MULTILINE)

#: The files below torch's folder with the names that torch.compile takes; ``source_files`` reads them.
NAME_FILES = (
    "__init__.py", "_dynamo/config.py", "_inductor/config.py", "_inductor/__init__.py", "_dynamo/eval_frame.py",
)  # fmt: skip

#: Those with the names of logs (graphdoctor.target_torch.log_names reads them).
LOG_FILES = ("_logging/_registrations.py", "_logging/_internal.py")


def torch_available() -> str | None:
    """The version of the installed torch; None when there is none."""
    folder = torch_folder()
    if folder is None:
        return None
    try:
        found = _VERSION.search((folder / "version.py").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    return found[1] if found is not None else _from_metadata()


def torch_folder() -> Path | None:
    """The folder of the installed torch; None when there is none."""
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:
        return None
    return Path(spec.origin or "").parent if spec is not None else None


def torch_stamps() -> Iterator[str]:
    """A stamp of the installed torch, which changes with the names that it takes; its files are not read."""
    folder = torch_folder()
    if folder is None:
        return
    for name in (*NAME_FILES, *LOG_FILES):
        try:
            state = (folder / name).stat()
        except OSError:
            continue
        yield f"torch {name} {state.st_mtime_ns} {state.st_size}"


def _from_metadata() -> str | None:
    # Importing this takes longer than all else that a scan of recalled files imports.
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
