"""The static pass over a text that an editor holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from graphdoctor.config import project
from graphdoctor.lint import engine
from graphdoctor.model.findings import Finding
from graphdoctor.scan.filtering import kept, selection_of
from graphdoctor.scan.ruleset import ruleset
from graphdoctor.source.discover import is_excluded, shown


@dataclass(frozen=True)
class Analysis:
    """The findings of the static pass in ``text``."""

    text: str
    findings: tuple[Finding, ...]


def analyse(file: Path, unsaved: Mapping[Path, str], root: Path) -> Analysis | None:
    """Analyse ``file``, whose text ``unsaved`` holds, with the settings of its project.

    Files that it imports are read from ``unsaved`` where an editor has them open, else from disk. Paths are shown
    relative to ``root``. None when the text cannot be parsed, as happens while the user types. Raises
    config.ConfigError.
    """
    file = file.resolve()
    text = unsaved[file]
    settings = project.load(file.parent)
    if is_excluded(file, (*settings.exclude, *settings.extend_exclude)):
        return Analysis(text, ())
    path = shown(file, root)
    # Rule files of the project are code, so they are not loaded here.
    rules = ruleset(project.Config(target_torch=settings.target_torch))
    result = engine.analyse([(file, path)], rules.active, unsaved=unsaved)
    if result.files[0].status == "failed":
        return None
    return Analysis(text, kept(result.findings, selection_of(settings, root), {path: text}))
