"""What is left out of a report, and what is said of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint.result import FileResult, merged
from graphdoctor.model.findings import ScannedFile
from graphdoctor.scan.filtering import Selection, nothing_checked


@pytest.mark.parametrize(("was_run", "notes"), [(False, 1), (True, 0)])
def test_a_file_that_compiles_nothing_was_checked_where_its_sample_was_run(was_run: bool, notes: int) -> None:
    static = merged([FileResult(ScannedFile("sample.py", 4, "scanned"))])
    unused: Any = None
    assert len(nothing_checked(static, Selection(Path()), unused, was_run)) == notes
