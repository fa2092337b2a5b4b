"""The static pass over a text that an editor holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from graphdoctor.config import project
from graphdoctor.lint import engine
from graphdoctor.model.findings import Finding
from graphdoctor.scan.filtering import kept, selection_of
from graphdoctor.scan.ruleset import ruleset
from graphdoctor.source.discover import is_excluded, shown
from graphdoctor.source.files import text_of


@dataclass(frozen=True)
class CheckedText:
    """The text of a file, and the findings in it."""

    text: str
    findings: tuple[Finding, ...]

    def but(self, more: Iterable[Finding]) -> CheckedText:
        """With ``more`` findings, those that it has already left out."""
        known = {(finding.rule, finding.location) for finding in self.findings}
        return CheckedText(self.text, (*self.findings, *(f for f in more if (f.rule, f.location) not in known)))


@dataclass(frozen=True)
class Analysis:
    """What the static pass found in a file, and in the files of the project that it calls, by resolved path."""

    own: CheckedText
    helpers: Mapping[Path, CheckedText] = field(default_factory=dict)


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
        return Analysis(CheckedText(text, ()))
    path = shown(file, root)
    # Rule files of the project are code, so they are not loaded here.
    rules = ruleset(project.Config(target_torch=settings.target_torch))

    def shown_helper(helper: Path) -> str | None:
        is_excluded_here = is_excluded(helper, (*settings.exclude, *settings.extend_exclude))
        return shown(helper, root) if helper.is_relative_to(root) and not is_excluded_here else None

    result = engine.analyse([(file, path)], rules.active, shown_helper, unsaved=unsaved)
    if result.files[0].status == "failed":
        return None
    files = {path: file, **{name: helper.resolve() for name, helper in result.helpers.items()}}
    texts = {name: unsaved[each] if each in unsaved else text_of(each) for name, each in files.items()}
    found: dict[str, list[Finding]] = {name: [] for name in files}
    for finding in kept(result.findings, selection_of(settings, root), texts):
        found[finding.location.path].append(finding)
    each = {files[name]: CheckedText(texts[name], tuple(findings)) for name, findings in found.items()}
    return Analysis(each.pop(file), each)
