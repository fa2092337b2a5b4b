"""Which findings are shown: sure enough, selected, not ignored and not silenced by a comment that has a use. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.scan.ruleset import RULELESS
from graphdoctor.source.suppressions import is_suppressed, matches, suppressions

if TYPE_CHECKING:
    from graphdoctor.config.project import Config
    from graphdoctor.lint.result import StaticResult
    from graphdoctor.model.findings import Finding
    from graphdoctor.model.runs import DynamicRun
    from graphdoctor.scan.ruleset import LazyRuleSet
    from graphdoctor.source.path_patterns import PathPattern


@dataclass(frozen=True)
class Selection:
    """Which rules count for which files. ``root`` is the folder that shown paths start from.

    ``possible`` admits what may break only under settings that the source does not show.
    """

    root: Path
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[PathPattern, tuple[str, ...]], ...] = ()
    possible: bool = False

    @property
    def is_narrowed(self) -> bool:
        """Whether some rules are left out for all files."""
        return bool(self.select or self.ignore or self.extend_ignore)

    def enables(self, code: str, name: str, path: str = "") -> bool:
        """Whether the rule is selected for the file shown as ``path``.

        As in ruff, the longer of two patterns wins: ``ignore = ["GD1"]`` with ``extend-select = ["GD101"]`` leaves
        GD101. ``per-file-ignores`` always win.
        """
        selecting = _longest(code, name, (*self.select, *self.extend_select))
        if not self.select:
            selecting = max(selecting, 0)
        if selecting <= _longest(code, name, (*self.ignore, *self.extend_ignore)):
            return False
        file = self.root / path
        return not any(
            pattern.matches(file) and any(matches(code, name, dropped) for dropped in codes)
            for pattern, codes in self.per_file_ignores
        )


def selection_of(settings: Config, root: Path, possible: bool = False) -> Selection:
    """What ``settings`` select."""
    return Selection(
        root,
        settings.select,
        settings.ignore,
        settings.extend_select,
        settings.extend_ignore,
        settings.per_file_ignores,
        possible,
    )


def kept(findings: Sequence[Finding], selection: Selection, texts: Mapping[str, str]) -> tuple[Finding, ...]:
    """The findings to show. ``texts`` holds the files with their comments, by shown path.

    A run that confirmed what is only possible admits it.
    """
    silenced = {path: suppressions(text) for path, text in texts.items()}

    def is_kept(finding: Finding) -> bool:
        code, name, place = finding.rule, finding.name, finding.location
        if finding.confidence == "possible" and finding.status != "confirmed" and not selection.possible:
            return False
        if not selection.enables(code, name, place.path):
            return False
        return not is_suppressed(code, name, place.line, silenced.get(place.path, ()))

    return tuple(finding for finding in findings if is_kept(finding))


def unused_comments(
    findings: Sequence[Finding],
    rules: LazyRuleSet,
    selection: Selection,
    static: StaticResult,
    texts: Mapping[str, str],
    runs: Sequence[DynamicRun] | None,
) -> tuple[Finding, ...]:
    """A finding for each comment that silences nothing, as far as this scan can know; ``findings`` are all it has."""
    if not static.judged:
        return ()
    from graphdoctor.diagnosis.unused import Scope, unused
    from graphdoctor.dynamic.parent.sample import declares_sample

    ran = runs is not None and all(run.outcome == "ok" for run in runs)
    unrun = {path for path in static.judged if not ran and declares_sample(texts[path]) is not None}

    def enabled(code: str, name: str, path: str) -> bool:
        # Only a run gives the first code, and only one that exports the second.
        if code == RULELESS[0][0] and not ran:
            return False
        if code == RULELESS[1][0] and not any(run.export for run in runs or ()):
            return False
        return rules.is_active(code) and selection.enables(code, name, path)

    silenced = {path: suppressions(texts[path]) for path in static.judged}
    return unused(findings, silenced, Scope(rules.known(), enabled, static.judged, unrun))


def nothing_checked(static: StaticResult, selection: Selection, rules: LazyRuleSet, was_run: bool) -> tuple[str, ...]:
    """A note where a scan without findings does not mean that the code is clean."""
    scanned = [file for file in static.files if file.status == "scanned"]
    if not scanned:
        return ()
    if selection.is_narrowed and not any(selection.enables(rule.code, rule.name) for rule in rules.known()):
        return ("nothing checked: the selected and ignored codes leave no rule",)
    if not static.compiles and not static.findings and not was_run:
        there = "no module with a forward is defined there (transforms of data are passed over)"
        hint = "; a function is read with the code that calls it: scan that, too"
        if len(scanned) == 1:
            hint += ", or name the function: --target NAME"
        return (f"nothing to check: {there}, and nothing is compiled{hint}",)
    return ()


def _longest(code: str, name: str, patterns: Sequence[str]) -> int:
    """How exactly a pattern names the rule: the characters of its code, 0 for ``ALL``, -1 when none does."""
    lengths = [-1]
    for pattern in patterns:
        if pattern.lower() == name:
            lengths.append(len(code))
        elif matches(code, name, pattern):
            lengths.append(len(pattern) if code.startswith(pattern.upper()) else 0)
    return max(lengths)
