"""Installed packages that are followed (``--follow``), and how their findings count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.config.suggestions import hint
from graphdoctor.scan.options import UsageError
from graphdoctor.source.installed import PackageNotFound, find_package, installed_names, site_folders

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding


@dataclass(frozen=True)
class Followed:
    """Installed packages whose code is analysed too: ``folders`` has the folder that holds each of them."""

    folders: Mapping[str, Path] = field(default_factory=dict)
    #: Errors in them count as errors.
    errors: bool = False
    #: They get fixes, which go to a patch file.
    fixes: bool = False

    def has(self, file: Path) -> bool:
        """Whether ``file`` belongs to a followed package."""
        return any(
            file.is_relative_to((folder / name).resolve()) or file == (folder / f"{name}.py").resolve()
            for name, folder in self.folders.items()
        )


def package_folders(names: Sequence[str], origin: str, python: str | None, project: Path) -> dict[str, Path]:
    """The folder that holds each package of ``names``. Raises UsageError for one that is not installed.

    ``python`` is the interpreter or environment to look in, by default that of the folder ``project``. ``origin`` says
    in messages where the names stand.
    """
    if not names:
        return {}
    try:
        folders = site_folders(python, project)
    except PackageNotFound as error:
        raise UsageError(str(error)) from None
    found: dict[str, Path] = {}
    for name in names:
        try:
            found[name] = find_package(name, folders).resolve()
        except PackageNotFound:
            looked = f"not in {folders[0]}" if folders else "there is no site-packages folder"
            if len(folders) > 1:
                looked += f" and {len(folders) - 1} other folders"
            advice = hint(name, installed_names(folders), "give the name that is imported, and --python")
            raise UsageError(f"{origin}: {name!r}: {looked}; {advice}") from None
    return found


def marked(findings: Iterable[Finding], files: Mapping[str, Path], followed: Followed) -> tuple[Finding, ...]:
    """``findings`` with those of followed packages marked as third-party, without fixes and errors that do not count.

    ``files`` are the files beside the scanned ones, by shown path.
    """
    return tuple(
        replace(
            finding,
            owner="third-party",
            severity=finding.severity if followed.errors or finding.severity != "error" else "warning",
            fix=finding.fix if followed.fixes else None,
        )
        if finding.location.path in files and followed.has(files[finding.location.path])
        else finding
        for finding in findings
    )
