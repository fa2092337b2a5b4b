"""Fixes for installed packages: found where the run broke in them, verified like others, and given as a patch file.

What lies in site-packages is never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.fixes.core.diff import unified
from graphdoctor.fixes.verification.trials import innermost
from graphdoctor.lint import engine
from graphdoctor.model.findings import Finding
from graphdoctor.model.runs import DynamicRun
from graphdoctor.source.discover import shown
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import read
from graphdoctor.static.rule import Rule

_SITES = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class Installed:
    """Findings in files of installed packages, and where these files are, by shown path."""

    findings: tuple[Finding, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)


def at_breaks(runs: Sequence[DynamicRun], rules: Sequence[Rule], root: Path, known: Iterable[Finding]) -> Installed:
    """What ``rules`` find in the lines of installed packages (torch aside) that broke, less what is ``known``."""
    broken: dict[str, set[int]] = {}
    for entry in (b for run in runs for b in run.breaks):
        path, line = innermost(entry)
        if entry.owner == "third-party" and site_of(root / path) is not None:
            broken.setdefault(path, set()).add(line)
    seen = {(f.rule, f.location) for f in known}
    files = {path: (root / path).resolve() for path in sorted(broken)}
    found = []
    for path, file in files.items():
        static = engine.analyse([(file, shown(file, root))], rules, lambda _other: None)
        found += [
            replace(finding, owner="third-party", location=replace(finding.location, path=path))
            for finding in static.findings
            if broken[path] & set(range(finding.location.line, finding.location.end_line + 1))
            and (finding.rule, finding.location) not in seen
        ]
    return Installed(tuple(found), files)


def confirmed(findings: Iterable[Finding], runs: Sequence[DynamicRun]) -> tuple[Finding, ...]:
    """``findings`` with those of installed packages confirmed where a run broke in their lines.

    A break in a package counts for the user's line that calls it, so the join does not find these.
    """
    breaks = [b for run in runs for b in run.breaks]

    def seen(finding: Finding) -> Finding:
        place = finding.location
        here = [b for b in breaks if innermost(b)[0] == place.path and place.line <= innermost(b)[1] <= place.end_line]
        if finding.owner != "third-party" or finding.status in ("confirmed", "dynamic-only") or not here:
            return finding
        ids = tuple(sorted({b.gb_id for b in here if b.gb_id}))
        return replace(finding, status="confirmed", gb_ids=ids, events=sum(b.events for b in here))

    return tuple(map(seen, findings))


def site_of(file: Path) -> Path | None:
    """The site-packages folder that holds ``file``, or None."""
    return next((parent for parent in file.parents if parent.name in _SITES), None)


def patch(findings: Iterable[Finding], root: Path, unsafe: bool) -> str:
    """The fixes of installed files as one patch, its paths relative to the folder of the packages; empty without any.

    ``unsafe`` admits unsafe fixes.
    """
    chosen, _ = select_fixes(findings, unsafe, "third-party")
    texts: dict[str, str] = {}
    for path in sorted({f.location.path for f in chosen}):
        try:
            texts[path] = read(root / path)[0]
        except SourceError:
            continue
    after = fixed_texts(texts, (f for f in chosen if f.location.path in texts))
    parts = [unified(_in_site(root / path), texts[path], after[path], keep_ends=True) for path in after]
    if not parts:
        return ""
    usage = "Apply in the folder that holds the packages (site-packages): patch -p1 < FILE"
    return f"graphdoctor: fixes for installed packages. {usage}\n\n{''.join(parts)}"


def _in_site(file: Path) -> str:
    site = site_of(file)
    return file.relative_to(site).as_posix() if site is not None else file.name
