"""The version of the installed torch, found without importing it: its build writes ``torch/version.py``."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

_VERSION = re.compile(r"""^__version__ = ['"]([^'"]+)['"]""", re.MULTILINE)


def torch_available() -> str | None:
    """The version of the installed torch; None when there is none."""
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:
        return None
    if spec is None:
        return None
    try:
        found = _VERSION.search(Path(spec.origin or "").with_name("version.py").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    return found[1] if found is not None else _from_metadata()


def _from_metadata() -> str | None:
    # Importing this takes longer than all else that a scan of recalled files imports.
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
