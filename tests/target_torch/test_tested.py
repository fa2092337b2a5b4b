"""What is said of a torch that the rules do not quite describe, and the versions that their examples declare."""

import json
from pathlib import Path

import pytest

from benchmarks.rule_versions.__main__ import disagreeing
from benchmarks.rule_versions.examples import examples, holds_on, rules
from graphdoctor.api import ScanOptions, scan
from graphdoctor.target_torch import tested
from graphdoctor.target_torch.specifiers import allows
from graphdoctor.target_torch.tested import TESTED, beside_tested

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "rule_versions.json"


@pytest.mark.parametrize("version", [None, "unknown", "2.13.0", "2.15.3"])
def test_nothing_is_said_of_what_was_tested(version: str | None) -> None:
    assert beside_tested(version) is None


@pytest.mark.parametrize("version", ["2.16.0+cu130", "3.0.0", "2.100.1a0"])
def test_a_newer_torch_is_named(version: str) -> None:
    assert (beside_tested(version) or "").startswith(f"torch {version} is newer than 2.15")


def test_an_older_torch_is_named() -> None:
    assert (beside_tested("2.9.1+cu128") or "").startswith("the rules describe torch 2.13: torch 2.9.1+cu128 breaks")


def test_the_newest_tested_version_has_results() -> None:
    versions = [tuple(map(int, version.split(".")[:2])) for version in json.loads(RESULTS.read_text())]
    assert max(versions) == TESTED


def test_no_example_disagrees_with_the_versions_that_it_declares() -> None:
    results = json.loads(RESULTS.read_text())
    assert {version: found for version in results if (found := disagreeing(version, results[version]))} == {}


def test_an_example_leaves_out_only_versions_on_which_it_differs() -> None:
    results = json.loads(RESULTS.read_text())
    left_out = [
        (rule.CODE, name, version)
        for rule in rules()
        for name, source in examples(rule).items()
        for version in results
        if allows(rule.TORCH, version) and not allows(holds_on(rule, source), version)
    ]
    assert [each for each in left_out if each[1] not in results[each[2]][each[0]]["differ"]] == []
    assert left_out


def test_a_report_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text("x = 1\n")
    monkeypatch.setattr(tested, "TESTED", (2, 5))
    diagnosis = scan(ScanOptions((str(tmp_path / "net.py"),), run=False))
    assert "is newer than 2.5" in diagnosis.notes[0]
