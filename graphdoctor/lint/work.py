"""What is analysed. Nothing here needs libcst, so that cached results are read quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.lint.result import PathOf

if TYPE_CHECKING:
    from graphdoctor.breaks.run_facts import RunFacts

File = tuple[Path, str]


@dataclass(frozen=True)
class Work:
    """The input of the static pass.

    ``files`` are all that are scanned, pairs of file on disk and path to show. ``helper`` says how to show a file that
    is not scanned but called from one that is; None keeps its findings out. ``target`` names what the files declare and
    the user compiles, in place of the regions that the files show. ``unsaved`` holds texts, by resolved path, that
    stand for what is on disk. ``followed`` are the installed packages that calls are followed into, with the folders
    that hold them. ``facts`` are what a run has shown, by file. Without ``possible`` what is only possible gets no fix,
    since nobody is shown it.
    """

    files: Sequence[File]
    helper: PathOf = lambda _file: None
    target: str | None = None
    unsaved: Mapping[Path, str] = field(default_factory=dict)
    followed: Mapping[str, Path] = field(default_factory=dict)
    facts: Mapping[Path, RunFacts] = field(default_factory=dict)
    possible: bool = True

    @cached_property
    def resolved(self) -> dict[Path, Path]:
        """The files without links in their paths."""
        return {file: file.resolve() for file, _ in self.files}

    def path_of(self) -> PathOf:
        """How the scan shows a file; None where its findings are not wanted."""
        shown = {self.resolved[file]: path for file, path in self.files}
        return lambda file: shown[file] if file in shown else self.helper(file)
