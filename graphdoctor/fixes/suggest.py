"""From a rule's hit to the ``Fix`` that a finding carries."""

from __future__ import annotations

from graphdoctor.fixes.apply import apply
from graphdoctor.fixes.diff import unified
from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.errors import Refuse
from graphdoctor.model import Fix
from graphdoctor.static.rule import Hit, Refusal, Rule


def suggest(rule: Rule, hit: Hit, editor: Editor) -> Fix | None:
    """The fix that ``rule`` offers for ``hit``: with edits and diff, or "manual" with the reason why there is none.

    None when the rule has no ``fix`` at all.
    """
    if rule.fix is None:
        return None
    try:
        plan = rule.fix(hit, editor)
    except Refuse as refusal:
        return Fix("manual", f"{refusal}.")
    if isinstance(plan, Refusal):
        return Fix("manual", plan.reason)
    before = editor.module.text
    return Fix(plan.safety, plan.reason, plan.edits, unified(editor.path, before, apply(before, plan.edits)))
