"""Paths as a code host knows them: relative to the repository, where the scan lies in one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

from graphdoctor.model.findings import Diagnosis, Finding, Fix


def from_repository(diagnosis: Diagnosis) -> Diagnosis:
    """``diagnosis`` with the paths of its findings and files relative to the nearest folder above that holds ``.git``.

    Unchanged where there is none, and where the diagnosis was read from JSON, which does not say where it was made.
    Paths outside the repository stay absolute.
    """
    root = Path(diagnosis.root)
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if not diagnosis.root or top is None or top == root:
        return diagnosis

    def shown(path: str) -> str:
        file = root / path
        return file.relative_to(top).as_posix() if path and file.is_relative_to(top) else path

    def moved(finding: Finding) -> Finding:
        location = replace(finding.location, path=shown(finding.location.path))
        callers = tuple(replace(caller, path=shown(caller.path)) for caller in finding.called_from)
        guarded = finding.guarded and replace(finding.guarded, path=shown(finding.guarded.path))
        fix = _moved_fix(finding.fix)
        return replace(finding, location=location, called_from=callers, guarded=guarded, fix=fix)

    def _moved_fix(fix: Fix | None) -> Fix | None:
        return fix and replace(fix, edits=tuple(replace(edit, path=shown(edit.path)) for edit in fix.edits))

    return replace(
        diagnosis,
        findings=tuple(map(moved, diagnosis.findings)),
        files=tuple(replace(file, path=shown(file.path)) for file in diagnosis.files),
        regions=tuple(replace(region, path=shown(region.path)) for region in diagnosis.regions),
        dynamic=diagnosis.dynamic
        and tuple(
            replace(
                run,
                breaks=tuple(
                    replace(
                        brk,
                        path=shown(brk.path),
                        stack=tuple(replace(frame, path=shown(frame.path)) for frame in brk.stack),
                    )
                    for brk in run.breaks
                ),
            )
            for run in diagnosis.dynamic
        ),
    )


def is_absolute(path: str) -> bool:
    """Whether ``path`` lies outside what was scanned."""
    return PurePosixPath(path).is_absolute()
