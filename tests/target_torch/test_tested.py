"""What is said of a torch that is newer than the rules."""

import json
from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan
from graphdoctor.target_torch import tested
from graphdoctor.target_torch.tested import TESTED, newer_than_tested

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "rule_versions.json"


@pytest.mark.parametrize("version", [None, "unknown", "2.6.0", "2.9.1+cu128", "2.15.3"])
def test_nothing_is_said_of_what_was_tested(version: str | None) -> None:
    assert newer_than_tested(version) is None


@pytest.mark.parametrize("version", ["2.16.0+cu130", "3.0.0", "2.100.1a0"])
def test_a_newer_torch_is_named(version: str) -> None:
    assert (newer_than_tested(version) or "").startswith(f"torch {version} is newer than 2.15")


def test_the_newest_tested_version_has_results() -> None:
    versions = [tuple(map(int, version.split(".")[:2])) for version in json.loads(RESULTS.read_text())]
    assert max(versions) == TESTED


def test_a_report_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text("x = 1\n")
    monkeypatch.setattr(tested, "TESTED", (2, 5))
    diagnosis = scan(ScanOptions((str(tmp_path / "net.py"),), run=False))
    assert "is newer than 2.5" in diagnosis.notes[0]
