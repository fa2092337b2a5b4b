"""The one file that is scanned -> what breaks in the installed packages that it calls from what it compiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.config.project import TABLES
from graphdoctor.scan.cache import Cache
from graphdoctor.source.discover import shown
from graphdoctor.source.installed import Installed

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding
    from graphdoctor.scan.plan import CachePlan, LibraryPlan
    from graphdoctor.scan.ruleset import LazyRuleSet


@dataclass(frozen=True)
class Called:
    """What was found in installed packages; ``files`` has them by shown path."""

    findings: tuple[Finding, ...] = ()
    files: tuple[tuple[Path, str], ...] = ()


def called_libraries(plan: LibraryPlan | None, rules: LazyRuleSet, kept: CachePlan | None) -> Called:
    """What surely breaks in packages that the file calls; nothing where the plan is not to look."""
    if plan is None:
        return Called()
    file, path = plan.file[0].resolve(), plan.file[1]

    def path_of(other: Path) -> str | None:
        return shown(other, plan.root)

    # A package that is installed or removed changes its folder.
    state = (f"{folder} {folder.stat().st_mtime_ns}" for folder in plan.folders if folder.is_dir())
    cache = None if kept is None else Cache(kept.folder, (*kept.key, "libraries", *state))
    result = None if cache is None else cache.recall(file, path, path_of)
    if result is None:
        # Imports that a scan of what stayed as it was does without.
        from graphdoctor.lint import libraries

        packages = Installed(plan.folders, (*TABLES, *libraries.NOT_READ), plan.own)
        result = libraries.called_libraries(file, path, rules.loaded.active, packages, path_of)
        if cache is not None:
            cache.keep(file, path, result, path_of)
    return Called(result.findings, tuple((other, name) for name, other in result.helpers.items()))


def seen(findings: Iterable[Finding], called: Called) -> tuple[Finding, ...]:
    """``findings`` of a scan that ran the file, without those in packages that the runs did not confirm."""
    there = {path for _, path in called.files}
    return tuple(f for f in findings if f.location.path not in there or f.status in ("confirmed", "dynamic-only"))
