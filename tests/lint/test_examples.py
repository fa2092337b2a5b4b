"""The example of a rule beside its fixed version, as the pages of rules show it."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.lint.catalog import rules
from graphdoctor.lint.examples import fixed_example


def test_every_rule_with_a_fix_has_an_example_of_it() -> None:
    found = {rule.code: fixed_example(rule) for rule in rules()}
    assert {code for code, example in found.items() if example} == {rule.code for rule in rules() if rule.fix}
    printed = found["GD101"]
    assert printed is not None and printed.lines == (3,) and not printed.dropped
    assert "    print(h.shape)  # GB0059\n" in printed.before
    # The comment on what breaks is not true of the fixed example.
    assert "    if not torch.compiler.is_compiling():\n        print(h.shape)\n" in printed.after
    after = [example.after for example in found.values() if example]
    assert [text for text in after if "# GB" in text or "# flagged" in text] == []


def test_a_rule_of_a_project_shows_its_own_fix() -> None:
    shipped = next(rule for rule in rules() if rule.code == "GD101")
    own = fixed_example(replace(shipped, code="ACME1", name="own-print", breaks=shipped.breaks[:1]))
    assert own == fixed_example(shipped)
    # What other rules say of its examples is not its fix.
    assert fixed_example(replace(shipped, code="ACME2", name="own-none", checks={})) is None
