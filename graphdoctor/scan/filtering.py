"""Which findings are shown: sure enough, selected, not ignored and not silenced by a comment that has a use. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def kept(
    findings: Sequence[Finding], settings: Config, texts: Mapping[str, str], root: Path, possible: bool = False
) -> tuple[Finding, ...]:
    """The findings to show. ``texts`` holds the files with their comments, by shown path below ``root``.

    ``possible`` admits what may break only under settings that the source does not show; a run that confirmed it
    admits it too.
    """
    silenced = {path: suppressions(text) for path, text in texts.items()}

    def is_kept(finding: Finding) -> bool:
        code, name, place = finding.rule, finding.name, finding.location
        if finding.confidence == "possible" and finding.status != "confirmed" and not possible:
            return False
        if not is_enabled(code, name, settings, root / place.path):
            return False
        return not is_suppressed(code, name, place.line, silenced.get(place.path, ()))

    return tuple(finding for finding in findings if is_kept(finding))


def unused_comments(
    findings: Sequence[Finding],
    rules: LazyRuleSet,
    settings: Config,
    static: StaticResult,
    texts: Mapping[str, str],
    root: Path,
    runs: Sequence[DynamicRun] | None,
) -> tuple[Finding, ...]:
    """A finding for each comment that silences nothing, as far as this scan can know; ``findings`` are all it has."""
    from graphdoctor.diagnosis.unused import Scope, unused
    from graphdoctor.dynamic.parent.sample import declares_sample

    ran = runs is not None and all(run.outcome == "ok" for run in runs)
    unrun = {path for path in static.judged if not ran and declares_sample(texts[path]) is not None}

    def enabled(code: str, name: str, path: str) -> bool:
        # Only a run gives the first code.
        if code == RULELESS[0][0] and not ran:
            return False
        return rules.is_active(code) and is_enabled(code, name, settings, root / path)

    silenced = {path: suppressions(texts[path]) for path in static.judged}
    return unused(findings, silenced, Scope(rules.known(), enabled, static.judged, unrun))


def nothing_checked(static: StaticResult, settings: Config, rules: LazyRuleSet, root: Path) -> tuple[str, ...]:
    """A note where a scan without findings does not mean that the code is clean."""
    if not any(file.status == "scanned" for file in static.files):
        return ()
    chosen = (settings.select, settings.ignore, settings.extend_ignore)
    if any(chosen) and not any(is_enabled(rule.code, rule.name, settings, root) for rule in rules.known()):
        return ("nothing checked: the selected and ignored codes leave no rule",)
    if not static.compiles and not static.findings:
        return ("nothing to check: no module with a forward is defined there, and nothing is compiled",)
    return ()


def is_enabled(code: str, name: str, settings: Config, file: Path) -> bool:
    """Whether the rule is selected for ``file``, an absolute path.

    As in ruff, the longer of two patterns wins: ``ignore = ["GD1"]`` with ``extend-select = ["GD101"]`` leaves GD101.
    ``per-file-ignores`` always win.
    """
    selecting = _longest(code, name, (*settings.select, *settings.extend_select))
    if not settings.select:
        selecting = max(selecting, 0)
    if selecting <= _longest(code, name, (*settings.ignore, *settings.extend_ignore)):
        return False
    return not any(
        pattern.matches(file) and any(matches(code, name, dropped) for dropped in codes)
        for pattern, codes in settings.per_file_ignores
    )


def _longest(code: str, name: str, patterns: Sequence[str]) -> int:
    """How exactly a pattern names the rule: the characters of its code, 0 for ``ALL``, -1 when none does."""
    lengths = [-1]
    for pattern in patterns:
        if pattern.lower() == name:
            lengths.append(len(code))
        elif matches(code, name, pattern):
            lengths.append(len(pattern) if code.startswith(pattern.upper()) else 0)
    return max(lengths)
