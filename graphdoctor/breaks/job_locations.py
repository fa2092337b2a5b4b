"""Whose code the paths of a job are, and its source lines where this machine has them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from graphdoctor.breaks.grouping import RawEvent, RawFrame
from graphdoctor.breaks.locations import Kind, Places, is_beside_packages, kind_without_file
from graphdoctor.source.files import text_of
from graphdoctor.source.text import split_lines

_INSTALLED = re.compile(r"/(?:site|dist)-packages/([^/]+)")
_LIBRARY = re.compile(r"/lib/python3\.\d+/")


@dataclass(frozen=True)
class JobPlaces(Places):
    """The job may have run on another machine: paths are told apart by what they look like.

    Neither installed, nor Python's, nor torch's is the user's own, nor what is in ``generated``, the folder in which
    libraries put code that they generate; empty where it is not known.
    """

    generated: str = ""

    def kind(self, path: str) -> Kind:
        """Whose code ``path`` is."""
        posix = path.replace("\\", "/")
        if path.startswith("<"):
            return kind_without_file(path)
        if self.torch and posix.startswith(self.torch + "/"):
            return "torch"
        installed = _INSTALLED.search(posix)
        if installed:
            return "torch" if installed[1] == "torch" else "third-party"
        if self.generated and posix.startswith(self.generated + "/"):
            return "third-party"
        if _LIBRARY.search(posix):
            return "library"
        # A folder that packages were installed in by --target has no telling name; it shows where it is here.
        return "third-party" if is_beside_packages(path) else "own"


def job_places(root: Path, torch: str, generated: str = "") -> JobPlaces:
    """``torch`` is the folder that the job had torch in; empty where its trace has none."""
    return JobPlaces(root=str(root), own=(), torch=torch, generated=generated)


def generated_folder(paths: Iterable[str], here: Path) -> str:
    """The folder for temporary files, where the job ran on this machine with code that lies ``here``, outside of it.

    A job may also run from there, as on a cluster: then it is the user's.
    """
    folder = os.path.realpath(tempfile.gettempdir())
    if here.is_relative_to(folder) or not any(Path(path).is_relative_to(here) for path in paths):
        return ""
    return Path(folder).as_posix()


class Sources:
    """The job's source files, where they are here and unchanged.

    A file is taken for unchanged when each line that the trace quotes is in it.
    """

    def __init__(self, quoted: Mapping[tuple[str, int], str]) -> None:
        self._quoted = quoted
        self._lines_of: dict[str, dict[int, str]] = {}
        for (path, line), text in quoted.items():
            self._lines_of.setdefault(path, {})[line] = text
        self._texts: dict[str, str] = {}

    def text(self, path: str) -> str:
        """The file's text; empty where it is missing or another than the job's."""
        if path not in self._texts:
            text = text_of(Path(path)) if os.path.isabs(path) else ""
            lines = split_lines(text)
            same = all(
                line <= len(lines) and lines[line - 1].strip() == quoted
                for line, quoted in self._lines_of.get(path, {}).items()
            )
            self._texts[path] = text if same else ""
        return self._texts[path]

    def snippet(self, path: str, line: int, around: int = 3) -> tuple[tuple[str, ...], int]:
        """Source lines around ``line`` and the number of the first; the quoted line alone where there is no file."""
        text = self.text(path)
        if text:
            start = max(line - around, 1)
            return tuple(split_lines(text)[start - 1 : line + around]), start
        quoted = self._quoted.get((path, line))
        return ((quoted,), line) if quoted else ((), 0)

    def placed(self, event: RawEvent) -> RawEvent:
        """``event`` with columns that count in the source line; without, where the line is not known whole."""
        above, traced = (tuple(map(self._frame, frames)) for frames in (event.above, event.traced))
        return replace(event, above=above, traced=traced)

    def _frame(self, frame: RawFrame) -> RawFrame:
        text = self.text(frame.path) if frame.column is not None else ""
        if frame.column is None or not text:
            return replace(frame, column=None)
        line = split_lines(text)[frame.line - 1]
        return replace(frame, column=frame.column + len(line) - len(line.lstrip()))
