"""A diagnosis for formats that know files and lines only: places in cells as places of the notebook's file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from graphdoctor.model.findings import Diagnosis, Finding, Location
from graphdoctor.source.errors import SourceError
from graphdoctor.source.notebook import Notebook, cell_of, opened


def by_file(diagnosis: Diagnosis) -> Diagnosis:
    """``diagnosis`` with findings in cells at the lines that the cells' source has in the file; without their edits."""

    @cache
    def notebook(path: str) -> Notebook:
        return opened(Path(diagnosis.root) / path)

    def placed(finding: Finding) -> Finding:
        place = finding.location
        found = cell_of(place.path)
        if found is None:
            return finding
        path, cell = found
        try:
            line = notebook(path).line(cell, place.line)
        except (SourceError, StopIteration):
            line = 1
        return replace(
            finding,
            location=Location(path, line, 1, line, 1),
            fact=f"cell {cell}, line {place.line}: {finding.fact}",
            snippet=(),
            snippet_start=0,
            # An edit of JSON would be another one.
            fix=None,
        )

    return replace(diagnosis, findings=tuple(map(placed, diagnosis.findings)))
