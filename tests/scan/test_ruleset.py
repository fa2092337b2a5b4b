"""Which rules a scan asks, and what is known of them without importing them."""

from __future__ import annotations

from graphdoctor.config.project import Config
from graphdoctor.lint import catalog
from graphdoctor.scan.ruleset import Header, LazyRuleSet, shipped


def test_what_the_files_of_the_rules_say_is_what_the_rules_are() -> None:
    known = [Header(rule.code, rule.name, bool(rule.gb_ids), rule.torch) for rule in catalog.rules()]
    assert sorted(shipped(), key=lambda header: header.code) == known


def test_a_rule_that_does_not_hold_in_the_torch_of_the_scan_is_not_active() -> None:
    old, new = (LazyRuleSet(Config(target_torch=torch)) for torch in ("2.6", "2.13"))
    later = next(rule.code for rule in catalog.rules() if rule.torch.startswith(">=2.13"))
    assert new.is_active(later)
    assert not old.is_active(later)
    assert old.known() == new.known()
    assert {code for code in ("GD000", "GD002", "GD101", "GD999") if old.is_active(code)} == {"GD000", "GD002", "GD101"}
