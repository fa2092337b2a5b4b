"""Failed exports and the findings at their lines."""

from __future__ import annotations

from typing import Any

from graphdoctor.diagnosis import exports, join
from graphdoctor.diagnosis.join import RuleText
from graphdoctor.model.export import Exported

FAILED = Exported(False, "failed", error="why", path="m.py", line=3, function="f", gb_id="GB0170")


def test_a_line_without_a_finding_gets_one_for_both_ways(build: Any) -> None:
    run = build.run(export=(Exported(True, "failed", error="why", path="m.py", line=3), FAILED))
    (found,) = exports.unexpected([], [run], {})
    assert (found.rule, found.severity, found.status, found.location.line) == ("GD001", "error", "dynamic-only", 3)
    assert found.message == "torch.export (strict=True and strict=False) fails here: why"
    (found,) = exports.unexpected([], [build.run(export=(FAILED,))], {"GB0170": RuleText("GD201", "branch", "w", "s")})
    assert (found.rule, found.gb_ids) == ("GD201", ("GB0170",))


def test_what_has_no_place_or_works_is_no_finding(build: Any) -> None:
    run = build.run(export=(Exported(True, "ok", 3), Exported(False, "failed", error="why")))
    assert exports.unexpected([], [run], {}) == ()


def test_a_finding_at_the_line_names_the_rule_and_is_not_refuted(build: Any) -> None:
    finding = build.finding(path="m.py", line=3)
    run = build.run(export=(FAILED,), lines={3})
    joined = join.join([finding], [run], {})
    assert [(f.rule, f.status) for f in joined] == [(finding.rule, "static-only")]
    (with_rules,) = exports.with_rules([run], joined)
    assert with_rules.export[0].rule == finding.rule
    refuted = join.join([finding], [build.run(lines={3})], {})
    assert refuted[0].status == "refuted"
