"""GD627 where the error that it tells of is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SET = "torch._logging.set_logs(fx=False)\n"


@pytest.mark.parametrize(
    ("text", "severity"),
    [(SET, "error"), (f"try:\n    {SET}except Exception:\n    pass\n", "warning")],
)
def test_an_error_that_is_caught_is_none(tmp_path: Path, text: str, severity: str) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "main.py"
    file.write_text(f"import torch\n\n{text}")
    (finding,) = analyse([(file, "main.py")]).findings
    assert (finding.rule, finding.severity) == ("GD627", severity)
    assert ("caught" in finding.message) == (severity == "warning")
