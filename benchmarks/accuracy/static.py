"""The static pass over the files of installed libraries, as the project that is scanned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from graphdoctor.api import ScanOptions, scan
from graphdoctor.model.findings import Finding


def findings(files: Iterable[str]) -> tuple[Finding, ...]:
    """The findings in ``files``, with absolute paths. Nothing is run."""
    diagnosis = scan(ScanOptions(paths=tuple(sorted(files)), run=False, verify=False))
    root = Path(diagnosis.root)
    return tuple(
        replace(f, location=replace(f.location, path=(root / f.location.path).as_posix())) for f in diagnosis.findings
    )
