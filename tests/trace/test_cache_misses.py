"""Why compile caches were missed, from recorded traces: fixtures/caches/record.py says how they were made."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.trace.diagnose import diagnose


def found(root: Path, run: str, against: str | None = None) -> Diagnosis:
    folder = root / "fixtures/caches"
    before = folder / f"{against}.log.gz" if against is not None else None
    return diagnose(folder / f"{run}.log.gz", against=before)


@pytest.mark.parametrize(
    ("run", "message", "advice"),
    [
        (
            "wider",
            "was compiled again although an earlier run had: example_inputs[2]: shape was [4, 8], is [6, 8]",
            "give the first call inputs of the same sizes",
        ),
        (
            "autotuned",
            "was compiled again although an earlier run had: inductor_config[max_autotune] was False, is True",
            "set Inductor the same in all runs",
        ),
        ("emptied", "was not in the compile cache", "its cache was not there: set TORCHINDUCTOR_CACHE_DIR"),
        ("bypassed", "bypasses the compile cache: Unsupported post grad custom pass", "torch does not cache this code"),
    ],
)
def test_what_changed_in_the_key_is_named(root: Path, run: str, message: str, advice: str) -> None:
    diagnosis = found(root, run, "first")
    (finding,) = diagnosis.findings
    assert (finding.rule, finding.severity, finding.location.path) == ("GD003", "warning", "/job/net.py")
    assert finding.message == f"`forward` {message}"
    assert advice in finding.suggestion
    # The forward and the backward pass.
    assert finding.events == 2
    assert diagnosis.summary.breaks == 0


@pytest.mark.parametrize(("run", "against"), [("warm", "first"), ("first", None), ("emptied", None), ("first", "warm")])
def test_hits_and_what_cannot_be_compared_are_no_finding(root: Path, run: str, against: str | None) -> None:
    # ``first`` and ``emptied`` miss; without an earlier run nothing is known of the reason.
    diagnosis = found(root, run, against)
    assert [finding.rule for finding in diagnosis.findings] == (["GD003"] if against == "warm" else [])


def test_a_bypass_needs_no_earlier_run(root: Path) -> None:
    assert [finding.rule for finding in found(root, "bypassed").findings] == ["GD003"]
