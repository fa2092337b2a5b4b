"""The modules that a program lacks, all in one line: Python itself names the first."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from graphdoctor.breaks.missing_packages import remedy_of_missing
from graphdoctor.dynamic.user_code.missing_modules import missing_modules
from graphdoctor.recorder.settings import MISSING
from graphdoctor.source.files import is_file


def lacking(folder: Path) -> str:
    """What the program recorded in ``folder`` lacks, and what to install; empty where no import ended it."""
    for note in sorted(folder.glob(MISSING.format("*"))):
        with suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads(note.read_text(encoding="utf-8"))
            name, file, searched = said["name"], Path(said["file"]), said["path"]
            if file.suffix != ".py" or not is_file(file):
                continue
            names = dict.fromkeys([str(name).partition(".")[0], *_missing(file, [str(place) for place in searched])])
            shown = ", ".join(f"'{each}'" for each in names)
            return f"missing: {shown}; {remedy_of_missing(f'ModuleNotFoundError: No module named {shown}')}"
    return ""


def _missing(file: Path, searched: Sequence[str]) -> tuple[str, ...]:
    """The missing modules of ``file``, looked for where the program did. Nothing is imported."""
    here = list(sys.path)
    sys.path[:] = searched
    try:
        return missing_modules(file)
    finally:
        sys.path[:] = here
