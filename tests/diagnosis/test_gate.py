"""What fails and what passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from graphdoctor.diagnosis.gate import failures
from graphdoctor.model.findings import Comparison, Diagnosis, Finding, Summary, Verdict
from graphdoctor.model.runs import Ladder, Numerics, Stage


def diagnosis(
    *findings: Finding, verdict: Verdict = "static-only", new: tuple[str, ...] | None = None, before: Verdict = "ready"
) -> Diagnosis:
    summary = Summary(verdict, "", 0, 0, None, None, None, 0, 1, 0)
    base = replace(summary, verdict=before)
    comparison = None if new is None else Comparison("main", base, None, new, (), ())
    return Diagnosis("1", {}, "", summary, (), findings, None, None, comparison=comparison)


@pytest.mark.parametrize(
    ("fields", "fails"),
    [
        ({}, True),
        ({"severity": "warning"}, False),
        ({"severity": "warning", "status": "confirmed"}, True),
        ({"severity": "warning", "status": "confirmed", "owner": "third-party"}, False),
        ({"status": "refuted"}, False),
        ({"allowed": "legacy"}, False),
        ({"severity": "info"}, False),
    ],
)
def test_which_findings_count(build: Any, fields: dict[str, Any], fails: bool) -> None:
    finding = build.finding(fingerprint="a", **fields)
    assert failures(diagnosis(finding), "any") == (("1 error",) if fails else ())
    assert failures(diagnosis(finding, new=("a",)), "new") == (("1 new error",) if fails else ())
    assert failures(diagnosis(finding, new=()), "new") == ()
    assert failures(diagnosis(finding), "none") == ()


@pytest.mark.parametrize(
    ("verdict", "before", "fail_on", "reason"),
    [
        ("not-ready", "ready", "any", "the verdict of the run is not-ready"),
        ("nothing-compiled", "ready", "any", "the verdict of the run is nothing-compiled"),
        ("not-ready", "ready", "new", None),
        ("not-run", "ready", "new", "the run failed"),
        ("not-run", "not-run", "new", None),
        ("nothing-compiled", "not-ready", "new", "nothing is compiled any more"),
        ("nothing-compiled", "static-only", "new", None),
        ("ready", "ready", "any", None),
    ],
)
def test_what_the_run_says(
    verdict: Verdict, before: Verdict, fail_on: Literal["any", "new"], reason: str | None
) -> None:
    judged = diagnosis(verdict=verdict, new=(), before=before)
    assert failures(judged, fail_on) == ((reason,) if reason else ())


def test_allowed_breaks_alone_do_not_make_a_run_fail(build: Any) -> None:
    allowed = build.finding(status="confirmed", allowed="legacy")
    elsewhere = build.finding(status="dynamic-only", owner="third-party", severity="warning")
    assert failures(diagnosis(allowed, verdict="not-ready"), "any") == ()
    assert failures(diagnosis(allowed, elsewhere, verdict="not-ready"), "any") != ()
    ladder = Ladder((Stage("inductor", "failed", "Inductor", "no lowering"),))
    failed = replace(diagnosis(allowed, verdict="not-ready"), dynamic=(build.run(ladder=ladder),))
    assert failures(failed, "any") == ("the verdict of the run is not-ready",)


def test_what_began_to_raise_under_torch_compile_fails(build: Any) -> None:
    raises = build.run(outcome="raised", numerics=Numerics(None, None, "1e-5"))
    judged = replace(diagnosis(verdict="not-ready", new=()), dynamic=(raises,))
    assert failures(judged, "new") == ("torch.compile raises an exception",)
    before = replace(diagnosis(verdict="not-ready", new=(), before="not-ready"), dynamic=(raises,))
    assert failures(before, "new") == ()


def test_a_limit(build: Any) -> None:
    three = diagnosis(*(build.finding(line) for line in (1, 2, 3)), build.finding(4, allowed="legacy"))
    assert failures(three, "none", 3) == ()
    assert failures(three, "none", 2) == ("3 graph breaks, and at most 2 allowed",)
    assert failures(three, "any", 0) == ("3 errors", "3 graph breaks, and at most 0 allowed")
