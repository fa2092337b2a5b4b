"""Comparisons with the version of torch are decided where every supported version answers the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan
from graphdoctor.static.domain.torch_versions import VERSION, compared, read
from graphdoctor.static.domain.values import Const, ExternalObject

FILE = """\
import torch
from packaging import version
from torch import nn

PARSED = version.parse(torch.__version__)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.old = {test}

    def forward(self, x):
        if self.old:
            print("old")
        return x * 2
"""


@pytest.mark.parametrize(
    ("name", "other", "expected"),
    [
        ("GreaterThanEqual", "2.3", True),
        ("GreaterThanEqual", "2.6.0", True),
        ("GreaterThan", "2.5.1", True),
        ("LessThan", "2.0", False),
        ("LessThan", "2.6", False),
        ("LessThanEqual", "1.13", False),
        ("Equal", "1.8.0", False),
        ("NotEqual", "1.8.0", True),
        ("GreaterThan", "2.6", None),
        ("LessThanEqual", "2.6", None),
        ("GreaterThanEqual", "2.9", None),
        ("LessThan", "2.10", None),
        ("GreaterThanEqual", "nightly", None),
        ("In", "2.3", None),
    ],
)
def test_what_holds_on_all_supported_versions(name: str, other: str, expected: bool | None) -> None:
    assert compared(name, VERSION, Const(other)) is expected


def test_the_version_may_stand_on_either_side() -> None:
    assert compared("LessThan", Const("2.3"), VERSION) is True
    assert compared("GreaterThan", Const("2.3"), VERSION) is False
    assert compared("Equal", Const("2.3"), VERSION) is False
    assert compared("LessThan", Const("2.3"), Const("2.6")) is None


def test_what_reads_a_version_keeps_it() -> None:
    assert read("packaging.version.parse", (VERSION,)) == VERSION
    assert read("packaging.version.Version", (Const("2.3"),)) == Const("2.3")
    assert read("packaging.version.parse", (ExternalObject("numpy.__version__"),)) is None
    assert read("builtins.str", (VERSION,)) is None


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ('version.parse(torch.__version__) < version.parse("2.0.0")', 0),
        ('PARSED < version.Version("2.3")', 0),
        ('torch.__version__ < "1.9"', 0),
        ('torch.__version__ >= "2.3"', 1),
        ('PARSED >= version.parse("2.9")', 1),
    ],
)
def test_code_for_versions_that_are_not_supported_has_no_findings(tmp_path: Path, test: str, found: int) -> None:
    file = tmp_path / "net.py"
    file.write_text(FILE.format(test=test))
    findings = scan(ScanOptions((str(file),), run=False)).findings
    assert [finding.rule for finding in findings] == ["GD101"] * found
