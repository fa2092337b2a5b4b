"""Notebooks in a scan: their cells, the diagnosis with locations by cell, the texts that fixes change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from graphdoctor.model.findings import Diagnosis
from graphdoctor.source.files import decode, is_notebook, text_of

if TYPE_CHECKING:
    from graphdoctor.scan.source_texts import Sources
    from graphdoctor.source.cells import Cells

T = TypeVar("T")


def cells_of(sources: Sources, stdin: bytes | None) -> dict[str, Cells]:
    """The cells of the notebooks among ``sources``, by shown path; ``stdin`` is one that is not on disk."""
    found = sources.cells()
    if stdin is not None and any(map(is_notebook, sources.texts)):
        from graphdoctor.source.notebook import Notebook

        found |= {path: Notebook(decode(stdin)[0]).cells(path) for path in sources.texts if is_notebook(path)}
    return found


def placed(value: T, cells: Mapping[str, Cells]) -> T:
    """``value``, such as findings or runs, with the locations in notebooks by cell."""
    if not cells:
        return value
    from graphdoctor.diagnosis.cells import in_cells

    return in_cells(value, cells)


def by_cell(diagnosis: Diagnosis, cells: Mapping[str, Cells], base: Mapping[str, Cells] | None = None) -> Diagnosis:
    """``diagnosis`` with the locations in notebooks by cell; ``base`` has the cells of what it is compared with."""
    comparison = diagnosis.comparison
    if comparison is None:
        return placed(diagnosis, cells)
    # What is fixed stands in the cells of the base.
    fixed = placed(comparison.fixed, base or {})
    head = placed(replace(diagnosis, comparison=replace(comparison, fixed=())), cells)
    return replace(head, comparison=head.comparison and replace(head.comparison, fixed=fixed))


def texts_of(diagnosis: Diagnosis, stdin: bytes) -> dict[str, str]:
    """The text on the standard input by its path; of a notebook those of its cells."""
    text, path = decode(stdin)[0], diagnosis.files[0].path
    if not is_notebook(path):
        return {path: text}
    from graphdoctor.source.notebook import Notebook

    return {cell.name: cell.text for cell in Notebook(text).cells(path).cells}


def text_at(path: Path) -> str:
    """The text of a file or of a cell; empty where it cannot be read."""
    if ".ipynb:cell " not in path.name:
        return text_of(path)
    from graphdoctor.source.notebook import text_of_cell

    return text_of_cell(path)
