"""Installed packages that the user wants followed, and what their findings count for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.config.suggestions import hint
from graphdoctor.scan.options import ScanOptions, UsageError, project_folder
from graphdoctor.source.installed import PackageNotFound, find_package, installed_names, site_folders

if TYPE_CHECKING:
    from graphdoctor.config.project import Config
    from graphdoctor.model.findings import Finding


def packages(options: ScanOptions, settings: Config) -> dict[str, Path]:
    """The folder that holds each package to follow. Raises UsageError for one that is not installed."""
    if not settings.follow:
        return {}
    try:
        folders = site_folders(options.python, project_folder(options))
    except PackageNotFound as error:
        raise UsageError(str(error)) from None
    found: dict[str, Path] = {}
    for name in settings.follow:
        try:
            found[name] = find_package(name, folders)
        except PackageNotFound:
            looked = f"not in {folders[0]}" if folders else "there is no site-packages folder"
            if len(folders) > 1:
                looked += f" and {len(folders) - 1} other folders"
            advice = hint(name, installed_names(folders), "give the name that is imported, and --python")
            raise UsageError(f"{settings.origin['follow'] or '--follow'}: {name!r}: {looked}; {advice}") from None
    return found


def is_followed(file: Path, followed: Mapping[str, Path]) -> bool:
    """Whether ``file`` belongs to a followed package."""
    return any(
        file.is_relative_to((folder / name).resolve()) or file == (folder / f"{name}.py").resolve()
        for name, folder in followed.items()
    )


def marked(
    findings: Iterable[Finding],
    files: Mapping[str, Path],
    followed: Mapping[str, Path],
    failing: bool,
    fixes: bool = False,
) -> tuple[Finding, ...]:
    """``findings`` with those of followed packages marked as third-party: without a fix unless ``fixes``,
    and no error unless ``failing``.

    ``files`` are the files beside the scanned ones, by shown path.
    """
    return tuple(
        replace(
            finding,
            owner="third-party",
            severity=finding.severity if failing or finding.severity != "error" else "warning",
            fix=finding.fix if fixes else None,
        )
        if finding.location.path in files and is_followed(files[finding.location.path], followed)
        else finding
        for finding in findings
    )
