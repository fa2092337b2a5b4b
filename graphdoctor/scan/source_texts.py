"""The texts of the scanned files, and what reports show of them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.model.findings import Finding
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import is_notebook, read, text_of
from graphdoctor.source.text import split_lines

if TYPE_CHECKING:
    from graphdoctor.source.cells import Cells

#: Source lines shown around a finding that was found at runtime only.
_CONTEXT = 3


@dataclass(frozen=True)
class Sources:
    """The texts of the scanned files that could be read, by shown path, and where they are on disk."""

    texts: Mapping[str, str]
    files: Mapping[str, Path]

    def cells(self) -> dict[str, Cells]:
        """The cells of the notebooks, by shown path, as far as they are still what was read."""
        found = {}
        for path, file in self.files.items():
            if not is_notebook(file) or path not in self.texts:
                continue
            from graphdoctor.source.notebook import opened

            with contextlib.suppress(SourceError):
                cells = opened(file).cells(path)
                if cells.text == self.texts[path]:
                    found[path] = cells
        return found

    def extended(self, other: Sources) -> Sources:
        """With the files of ``other``."""
        return Sources({**other.texts, **self.texts}, {**other.files, **self.files})


def read_texts(files: Sequence[tuple[Path, str]], unsaved: Mapping[Path, str]) -> Sources:
    """The texts of ``files``, pairs of file and shown path; those that cannot be read have none.

    ``unsaved`` holds texts, by resolved path, that stand for what is on disk.
    """
    texts = {path: unsaved[file.resolve()] for file, path in files if file.resolve() in unsaved}
    for file, path in files:
        try:
            texts[path] = texts[path] if path in texts else read(file)[0]
        except SourceError:
            continue
    return Sources(texts, {path: file for file, path in files})


def with_snippet(finding: Finding, sources: Sources) -> Finding:
    """``finding`` with the source lines around it, where it was found at runtime only."""
    if finding.snippet:
        return finding
    place = finding.location
    path = sources.files.get(place.path, Path(place.path))
    lines = split_lines(sources.texts.get(place.path) or text_of(path))
    start = max(place.line - _CONTEXT, 1)
    return replace(finding, snippet=tuple(lines[start - 1 : place.end_line + _CONTEXT]), snippet_start=start)


def lines_of(findings: Sequence[Finding], sources: Sources) -> dict[str, list[str]]:
    """The lines of the files that have findings, by shown path."""
    paths = {f.location.path for f in findings} & set(sources.texts)
    return {path: split_lines(sources.texts[path]) for path in paths}
