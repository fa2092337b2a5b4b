"""From a rule's hit to the ``Fix`` that a finding carries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import libcst as cst

from graphdoctor.fixes.core.diff import of_edits
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.merged_parts import merged
from graphdoctor.fixes.core.own_name import with_own_name
from graphdoctor.model.findings import Edit, Fix, Known
from graphdoctor.static.domain.events import ArgumentCall, Event, Site
from graphdoctor.static.rule import FixPlan, Hit, Refusal, Rule
from graphdoctor.syntax.walk import is_node
from graphdoctor.syntax.written import Written
from graphdoctor.target_torch.specifiers import allows

#: Names by which a file reads the lines of its own code, or their numbers.
_READS_LINES = (
    "f_lineno",
    "tb_lineno",
    "co_firstlineno",
    "lineno",
    "getsource",
    "getsourcelines",
    "co_code",
    "linecache",
)
#: What stands before the sign of equality in ``{x.norm()=}``.
_SHOWN = re.compile(r"\{([^{}]*[^{}=!<>\s])\s*=\s*[}:!]")


def suggest(rule: Rule, hit: Hit, editor: Editor, others: Sequence[Hit] = ()) -> Fix | None:
    """The fix that ``rule`` offers for ``hit``: with edits and diff, or "manual" with the reason why there is none.

    ``others`` are the hits of further calls that reach the same code, perhaps with other kinds of values: a fix is safe
    only where it is for each of them. None when the rule has no ``fix`` at all.
    """
    if rule.fix is None:
        return None
    try:
        plan = rule.fix(as_written(hit, editor.module), editor)
        for other in others:
            if not isinstance(plan, FixPlan) or plan.safety != "safe":
                break
            plan = _weaker(plan, rule.fix(as_written(other, editor.module), editor))
    except cst.ParserSyntaxError:
        return Fix("manual", "libcst cannot read what Python accepts here, so nothing is rewritten.")
    except Refuse as refusal:
        reason = " ".join(str(refusal).split())
        return Fix("manual", f"{reason[:1].upper()}{reason[1:]}.")
    if isinstance(plan, Refusal):
        # It may name code of several lines.
        return Fix("manual", " ".join(plan.reason.split()))
    if plan.torch and rule.target and not allows(plan.torch, rule.target):
        return Fix("manual", f"The rewrite needs torch{plan.torch}.")
    plan = _in_this_file(with_own_name(plan, editor), editor)
    try:
        diff = of_edits(editor.path, editor.module.text, plan.edits)
    except ValueError:
        try:
            plan = replace(plan, edits=merged(plan.edits, editor), safety="unsafe")
            diff = of_edits(editor.path, editor.module.text, plan.edits)
        except ValueError:
            return Fix("manual", "Two parts of the rewrite would change the same code.")
    # A number may be followed to the same code from two sides: what applies edits may refuse one that comes twice.
    return Fix(plan.safety, plan.reason, tuple(dict.fromkeys(plan.edits)), diff, known=_known(plan))


def _known(plan: FixPlan) -> tuple[Known, ...]:
    """How the fix is known to differ: what is left out under compile, and is not proved to be output, is lost."""
    guards = any("is_compiling()" in edit.text for edit in plan.edits)
    return (*plan.known, "compile") if guards and plan.safety == "unsafe" and not plan.guards_output else plan.known


def _in_this_file(plan: FixPlan, editor: Editor) -> FixPlan:
    """``plan``, unsafe where the file looks at its own code."""
    if plan.safety != "safe":
        return plan
    if any(_is_shown(edit, editor) for edit in plan.edits):
        return replace(plan, safety="unsafe", reason="It changes code that `{...=}` shows as text.")
    texts = [edit.text for edit in plan.edits]
    moves_lines = any("\n" in t or "\r" in t for t in texts) or any(e.start[0] != e.end[0] for e in plan.edits)
    if moves_lines and any(editor.has_word(word) for word in _READS_LINES):
        return replace(plan, safety="unsafe", reason="This file reads its own lines or their numbers, which change.")
    if any("is_compiling()" in text for text in texts) and editor.has_word("jit") and editor.has_word("script"):
        reason = "TorchScript, which this file uses, compiles the new test and may warn."
        return replace(plan, safety="unsafe", reason=reason)
    return plan


def _is_shown(edit: Edit, editor: Editor) -> bool:
    """Whether ``edit`` changes code in an f-string that shows it as text, ``f"{x.norm()=}"``."""
    if edit.path != editor.path or edit.start[0] != edit.end[0] or not editor.module.has(_SHOWN):
        return False
    shown = _SHOWN.finditer(editor.module.lines[edit.start[0] - 1])
    return any(span.start(1) < edit.start[1] and edit.end[1] <= span.end(1) + 1 for span in shown)


def _weaker(first: FixPlan, second: FixPlan | Refusal) -> FixPlan | Refusal:
    """The one of two plans for the same code that promises less."""
    if isinstance(second, FixPlan) and second.edits != first.edits:
        reason = "It fits some of the calls that reach this code; others need another rewrite."
        return replace(first, safety="unsafe", reason=reason)
    return second


def as_written(found: Any, written: Written) -> Any:
    """``found``, a hit, event, site or node of the tree that was analysed, with the nodes of the file as written."""
    if is_node(found):
        return written.of(found)
    if isinstance(found, (Hit, Event, Site, ArgumentCall)):
        changed = {f.name: as_written(getattr(found, f.name), written) for f in fields(found)}
        return replace(found, **changed)
    if isinstance(found, (tuple, list)):
        return type(found)(as_written(item, written) for item in found)
    return found
