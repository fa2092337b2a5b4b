"""The models of a scan: which findings they have, and how many are not shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.api import ScanOptions, scan

NET = """
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        print(x)
        print(x){comment}
        return x.item()
"""


@pytest.mark.parametrize(
    ("comment", "options", "shown", "silenced"),
    [
        ("", {}, 3, 0),
        ("  # graphdoctor: ignore[GD101]", {}, 2, 1),
        ("", {"select": ("GD101",)}, 2, 1),
        ("", {"ignore": ("GD2",)}, 2, 1),
    ],
)
def test_what_is_not_shown_is_counted(
    tmp_path: Path, comment: str, options: dict[str, Any], shown: int, silenced: int
) -> None:
    (tmp_path / "net.py").write_text(NET.format(comment=comment))
    diagnosis = scan(ScanOptions(paths=(str(tmp_path),), run=False, **options))
    [region] = diagnosis.regions
    assert (region.name, len(region.findings), region.silenced) == ("Net", shown, silenced)
    assert set(region.findings) <= {finding.fingerprint for finding in diagnosis.findings}
